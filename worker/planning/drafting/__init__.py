"""The draft of a plan, made from untrusted text before anything is spoken.

Readers of documents, patterns for sentences and rules for numbers all process untrusted text. So one process for each
job does everything from the stored input to the segments (`__main__`, started by `process`). It has limits of memory
and time, and can open no file or socket. If it takes too long, only its own job fails.
"""
