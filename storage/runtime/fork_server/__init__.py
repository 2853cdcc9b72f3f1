"""Children that read what strangers send, forked from a process that has everything loaded and knows nothing.

An interpreter with its parsers takes a tenth of a second of a core to start, a recording a hundredth to decode. So a
process starts one *fork server* for each kind of reading (`client.ForkServer`). It begins as a program of its own with
an empty environment, not as a copy of the process that starts it: what that one holds in memory is not in it. It
imports the parsers, then waits and forks one child for each file (`server.serve`); it reads no stranger's byte itself,
so no child inherits anything of another's file. The child (`child`) has three descriptors, limits of memory, time and
output (`limits`), and can open nothing.

What siblings share that separate programs would not: the layout of their memory. A child that crashes may have been an
attempt to guess it, so a fork server whose child crashed is replaced, and the next guess begins anew.

Lives are tied to each other: a fork server ends when the process that started it does, and a child when its fork server
does or when its caller waits no more.
"""
