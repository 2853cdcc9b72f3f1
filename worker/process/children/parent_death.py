"""What every process that a worker starts does first: it becomes the worker's own, to live and end with it."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def belong_to(worker: int) -> None:
    """In the main thread. worker: process id of the one that has started this one.

    Have the kernel kill this process when the thread that started it ends, also while it is stopped or busy in a
    library. Outside Linux, the end of its socket ends it. If the worker is already gone, the process ends at once.
    """
    # Ctrl-C and a service manager's SIGTERM reach the whole group; the worker decides when its processes end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if sys.platform != "linux":
        return
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != worker:
        sys.exit("the worker is gone")  # it ended before `prctl` was called
