"""A process that is asked to leave is gone soon, whatever it is waiting for."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from types import FrameType

logger = logging.getLogger(__name__)


def leave_on_signals(stop: threading.Event, patience_s: float) -> None:
    """SIGTERM and SIGINT set `stop`; a process that has not ended `patience_s` later is ended where it stands.

    Only for work that may be broken off anywhere. Call it once, in the main thread. A handler of Python's own would not
    do: it waits until the main thread is out of the C library, which may look for the address of a host that is gone.
    """
    heard, told = socket.socketpair()
    told.settimeout(0.0)
    signal.set_wakeup_fd(told.fileno())
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _on_signal)
    # The thread keeps both ends open as long as the process lives.
    threading.Thread(target=_leave, args=(stop, patience_s, heard, told), name="leaving", daemon=True).start()


def _on_signal(_number: int, _frame: FrameType | None) -> None:
    """That it is there keeps the signal from ending the process; what is done about it is done by the thread."""


def _leave(stop: threading.Event, patience_s: float, heard: socket.socket, _told: socket.socket) -> None:
    heard.recv(1)
    stop.set()
    threading.Event().wait(patience_s)
    logger.warning("left without a goodbye", extra={"after_s": patience_s})
    os._exit(0)
