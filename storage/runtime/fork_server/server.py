"""The fork server itself: a program that has loaded its parsers, and from then on only forks, kills and reaps.

It has one thread, so that a fork copies no lock that another thread held. A child gives up what it inherited, does its
task and ends.
"""

from __future__ import annotations

import ctypes
import gc
import os
import selectors
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress

from storage.runtime.fork_server.limits import ChildLimits, bound_descriptors, close_the_doors
from storage.runtime.fork_server.protocol import READY, ChildOrder, ConnectionEnded, receive_order, send_status


def serve(task: Task, limits: ChildLimits) -> None:
    """Fork a child for every order that comes over standard input, a socket, until it ends and no child is left.

    Call it when everything is loaded that `task` needs, whatever is imported at first use included.
    """
    bound_descriptors()
    with socket.socket(fileno=os.dup(0)) as control, _Children(task, limits) as children:
        children.watch(control)
        # What is there by now lives as long as the process; a collection in a child would only copy its pages.
        gc.collect()
        gc.freeze()
        control.sendall(READY)
        while children.are_wanted:
            children.step()


class _Children:
    """Those under way, each with the channel of its caller."""

    def __init__(self, task: Task, limits: ChildLimits) -> None:
        self._task, self._limits = task, limits
        self._channels: dict[int, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        self._ended, wake = socket.socketpair()
        self._wake = wake
        self._takes_orders = True

    def __enter__(self) -> _Children:
        self._ended.settimeout(0)
        self._wake.settimeout(0)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(self._wake.fileno())
        self._selector.register(self._ended, selectors.EVENT_READ, self._reap)
        return self

    def __exit__(self, *_: object) -> None:
        signal.set_wakeup_fd(-1)
        self._selector.close()
        self._ended.close()
        self._wake.close()

    @property
    def are_wanted(self) -> bool:
        return self._takes_orders or bool(self._channels)

    def watch(self, control: socket.socket) -> None:
        self._selector.register(control, selectors.EVENT_READ, lambda: self._take(control))

    def step(self) -> None:
        """Wait for something to happen, and do what follows from it."""
        for key, _ in self._selector.select():
            key.data()

    def _take(self, control: socket.socket) -> None:
        try:
            order = receive_order(control)
        except ConnectionEnded:
            # Either the process that started us is gone, and with it all who wait, or it takes another fork server now.
            self._takes_orders = False
            self._selector.unregister(control)
            return
        self._fork(order)

    def _fork(self, order: ChildOrder) -> None:
        fork_server = os.getpid()
        pid = os.fork()
        if pid == 0:
            run_child(order, self._task, self._limits, fork_server)
        for descriptor in (order.file, order.answer, order.complaints):
            os.close(descriptor)
        channel = socket.socket(fileno=order.channel)
        self._channels[pid] = channel
        self._selector.register(channel, selectors.EVENT_READ, lambda: self._give_up(pid))

    def _give_up(self, pid: int) -> None:
        """The caller waits no more. A process id in `_channels` is still the child's: only `_reap` lets go of it."""
        if pid in self._channels:  # else it ended in the same step
            self._selector.unregister(self._channels[pid])
            os.kill(pid, signal.SIGKILL)

    def _reap(self) -> None:
        with suppress(BlockingIOError):
            while self._ended.recv(4_096):
                pass
        while self._channels:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            self._report(self._channels.pop(pid), os.waitstatus_to_exitcode(status))

    def _report(self, channel: socket.socket, status: int) -> None:
        with channel:
            with suppress(KeyError):  # given up before
                self._selector.unregister(channel)
            with suppress(ConnectionEnded):
                send_status(channel, status)


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
