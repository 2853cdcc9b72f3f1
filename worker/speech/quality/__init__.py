"""Judging speech: a recogniser that reads it back, word errors, and checks that need no model.

Nothing here knows jobs, stores or an engine's inside; samples, codec frames and text come in, findings go out.
"""
