"""How many connections each tenant holds in this process: one tenant alone cannot take them all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

from api.http.problems.problem import HttpProblem, problem

SHARE = 0.5
"""Of this process' connections, for the WebSockets, event streams and held answers of one tenant together."""


class ConnectionShares:
    """For the event loop."""

    def __init__(self, max_connections: int) -> None:
        self._limit = max(1, int(max_connections * SHARE))
        self._held: Counter[str] = Counter()

    def has_room(self, tenant: str) -> bool:
        return self._held[tenant] < self._limit

    def refusal(self) -> HttpProblem:
        detail = f"you hold {self._limit:,} connections of this server with streams and waiting requests"
        return problem("too_many_connections", detail, retry_after_s=2)

    @contextmanager
    def held(self, tenant: str) -> Generator[None]:
        """For as long as one is held."""
        self._held[tenant] += 1
        try:
            yield
        finally:
            self._held[tenant] -= 1
            if not self._held[tenant]:
                del self._held[tenant]
