"""Documents to scripts: EPUB, DOCX, PDF, HTML, Markdown and text files. Pure.

Everything here runs in a separate process (`worker.planning.drafting`): bounded in memory and time, and without a way
to open a file or a socket.
"""
