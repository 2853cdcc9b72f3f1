"""A forked child's life: give up what it inherited, do its task, end."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence

from storage.runtime.fork_server.limits import ChildLimits, close_the_doors
from storage.runtime.fork_server.protocol import ChildOrder

Task = Callable[[Sequence[str]], None]
"""What a child does with its arguments: from standard input to standard output, both of them files."""

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def run_child(order: ChildOrder, task: Task, limits: ChildLimits, fork_server: int) -> None:
    """Right after the fork; never returns. fork_server: its process id."""
    status = 1
    try:
        _die_with(fork_server)
        _forget_signals()
        _keep_only(order)
        limits.apply()
        close_the_doors()
        task(order.arguments)
        sys.stdout.flush()
        status = 0
    except BaseException:  # noqa: BLE001 - nothing is above this frame that could handle it; the parent reads it
        traceback.print_exc()
    finally:
        os._exit(status)


def _die_with(fork_server: int) -> None:
    """Elsewhere than on Linux the limit of processor time has to do."""
    if sys.platform == "linux":
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != fork_server:
        os._exit(1)


def _forget_signals() -> None:
    """The fork server's are none of ours."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def _keep_only(order: ChildOrder) -> None:
    """Three descriptors and no other: not the control connection, no sibling's channel, not the own one."""
    for standard, descriptor in enumerate((order.file, order.answer, order.complaints)):
        os.dup2(descriptor, standard)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
