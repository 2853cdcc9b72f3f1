"""Live speech: streams of API processes, generated while they play.

`server` accepts connections. `connection` is one API process with its streams. `stream` is one stream. Its text comes
in pieces (`text`), and its segments go to the engine one after the other. `gate` checks the audio and `edges` trims it
as it comes. Nothing of a stream is stored. With its order and the codes that were played, another worker can resume it
(`resuming`).
"""
