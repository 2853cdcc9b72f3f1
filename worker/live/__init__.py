"""Live speech: streams of API processes, spoken while they are heard.

`server` takes connections, `connection` is one API process with its streams, `stream` is one of these: its text comes
in pieces (`text`), its segments go to the engine one after the other, `gate` listens and `edges` trims as it comes.
Nothing of a stream is stored: who has its order and the codes that were heard can have it go on elsewhere (`resuming`).
"""
