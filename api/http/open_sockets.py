"""The WebSockets that are open in this process."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager

from api.http.connection_shares import ConnectionShares
from api.http.middleware.budget import Budget
from api.http.middleware.frames import TENANT_FRAMES_AT_ONCE, TENANT_FRAMES_PER_S
from storage.runtime.observability.metrics import gauge

_OPEN = gauge("rhapsode_live_sockets")

EMPTY_LOOK_S = 0.02


class OpenSocket:
    """An open WebSocket. Its session may register what to do when the process stops.

    frames: what all sockets of its tenant may send together.
    """

    __slots__ = ("_is_told", "_on_stop", "frames")

    def __init__(self, frames: Budget) -> None:
        self.frames = frames
        self._is_told = False
        self._on_stop: Callable[[], None] | None = None

    def when_stopped(self, on_stop: Callable[[], None]) -> None:
        """Called once, and at once if the stop was requested before."""
        self._on_stop = on_stop
        if self._is_told:
            on_stop()

    def tell_stop(self) -> None:
        self._is_told = True
        if self._on_stop is not None:
            self._on_stop()


class OpenSockets:
    """For the event loop."""

    def __init__(self, shares: ConnectionShares) -> None:
        self._shares = shares
        self._open: Counter[str] = Counter()
        self._frames: dict[str, Budget] = {}
        self._sockets: set[OpenSocket] = set()

    def stop(self) -> None:
        """Tell each; those that come later have to be kept out."""
        for socket in tuple(self._sockets):
            socket.tell_stop()

    async def emptied(self, longest_s: float) -> None:
        """Returns when none is open, or after so long."""
        give_up_s = time.monotonic() + longest_s
        while self._sockets and time.monotonic() < give_up_s:
            await asyncio.sleep(EMPTY_LOOK_S)

    @contextmanager
    def place(self, tenant: str) -> Generator[OpenSocket]:
        """For as long as one is open. Raises the `Problem` of one too many."""
        if not self._shares.has_room(tenant):
            raise self._shares.refusal()
        self._open[tenant] += 1
        frames = self._frames.setdefault(tenant, Budget(TENANT_FRAMES_PER_S, TENANT_FRAMES_AT_ONCE))
        socket = OpenSocket(frames)
        self._sockets.add(socket)
        try:
            with _OPEN.track_inprogress(), self._shares.held(tenant):
                yield socket
        finally:
            self._sockets.discard(socket)
            self._open[tenant] -= 1
            if not self._open[tenant]:
                del self._open[tenant]
                del self._frames[tenant]
