"""`Engine` for a process beside the worker's: its own channel to the host, which the worker opens and hands over."""

from __future__ import annotations

import socket
import threading

from worker.engine.interface import EngineInfo
from worker.engine.process.calls import EngineCalls
from worker.engine.process.front import EngineFront
from worker.process.children.channel import Channel

_TICK_S = 0.25
_END_S = 5.0


class EngineLine(EngineFront):
    """Calls wait while there is no channel. info: of the engine, which is the same in all of its runs."""

    def __init__(self, info: EngineInfo) -> None:
        super().__init__()
        self._info = info
        self._calls: EngineCalls | None = None
        self._watch = threading.Thread(target=self._look_on, name="engine-line", daemon=True)
        self._watch.start()

    def use(self, channel: socket.socket) -> None:
        """A new channel, usually of a new host. Calls of the old one fail with its end."""
        calls = EngineCalls(Channel(channel), "the engine", self._notify, lambda complaint: complaint or "it is gone")
        with self._changed:
            old, self._calls = self._calls, calls
        if old is not None:
            old.hang_up()
        calls.start()

    def close(self) -> None:
        with self._changed:
            calls = self._calls
        super().close()
        if calls is not None:
            calls.hang_up()
            calls.join(_END_S)
        self._watch.join()

    def _look_on(self) -> None:
        while not self._closing:
            with self._changed:
                calls = self._calls
            if calls is not None and calls.end_reason is not None:
                self.lose(calls)
            elif calls is not None and calls.info is not None:
                self.admit(calls, calls.info)
            self.fail_late("its worker starts it again")
            with self._changed:
                self._changed.wait(_TICK_S)
