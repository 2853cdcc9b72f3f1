"""How many WebSockets each tenant holds open in this process: one of them alone cannot take every place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

from api.http.problems.problem import too_many_sockets
from storage.runtime.observability.metrics import gauge

_OPEN = gauge("rhapsode_live_sockets")

SHARE = 0.5
"""Of this process' connections, for the sockets of one tenant."""


class OpenSockets:
    def __init__(self, max_connections: int) -> None:
        self._limit = max(1, int(max_connections * SHARE))
        self._open: Counter[str] = Counter()

    @contextmanager
    def place(self, tenant: str) -> Generator[None]:
        """For as long as one is open. Raises the `Problem` of one too many."""
        if self._open[tenant] >= self._limit:
            raise too_many_sockets(self._limit)
        self._open[tenant] += 1
        try:
            with _OPEN.track_inprogress():
                yield
        finally:
            self._open[tenant] -= 1
            if not self._open[tenant]:
                del self._open[tenant]
