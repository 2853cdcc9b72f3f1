"""Becomes the given program on the cores it is to have, after asking the kernel for a signal when the parent dies.

    python launcher.py PARENT_PID SIGNAL CORES PROGRAM [ARGUMENT ...]

CORES: `0,1,2`, or nothing for all of them. What the program starts has the same.

Run as a file by the supervisor for each of its processes, so that a supervisor killed with SIGKILL leaves nothing
running. The request (PR_SET_PDEATHSIG) survives exec and concerns the *thread* that started the child. So the
supervisor starts all processes from the one thread that also waits for their end. Where the kernel has no such request
(macOS), the next start ends what is left.
"""

from __future__ import annotations

import ctypes
import os
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    prepare(*sys.argv[1:4])
    program = sys.argv[4:]
    os.execv(program[0], program)  # noqa: S606  # this process is to become the program


def prepare(parent: str, signum: str, cores: str) -> None:
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(PR_SET_PDEATHSIG, int(signum), 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
        if cores:
            os.sched_setaffinity(0, map(int, cores.split(",")))
    # The parent may have died before the request was in place.
    if os.getppid() != int(parent):
        sys.exit("the supervisor is gone")


if __name__ == "__main__":
    main()
