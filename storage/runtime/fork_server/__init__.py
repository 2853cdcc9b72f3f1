"""Children that read uploaded files, forked from a process that has all modules loaded and no secrets.

An interpreter with its parsers takes a tenth of a second of a core to start, a recording a hundredth to decode. So a
process starts one *fork server* for each kind of reading (`client.ForkServer`). It starts as a new program with an
empty environment. So it contains nothing from the memory of the process that starts it. It imports the parsers, then
waits and forks one child for each file (`server.serve`). It reads no file itself, so no child inherits data of another
file. The child has three descriptors, limits of memory, time and output (`limits`), and can open nothing.

What siblings share that separate programs would not: the layout of their memory. A child that crashes may have been an
attempt to guess it, so a fork server whose child crashed is replaced, and the next guess starts without knowledge.

A fork server ends with the process that started it. A child ends with its fork server, or when its caller stops
waiting.
"""
