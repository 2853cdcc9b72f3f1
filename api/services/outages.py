"""Since when this process finds a part of the system broken."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from datetime import UTC, datetime


class Outages:
    """Remembers the first time of each reason until a probe no longer finds it. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._since: dict[str, datetime] = {}

    def seen(self, reasons: Iterable[str]) -> tuple[str, ...]:
        """The reasons that a probe found, each with the time of the first such probe."""
        with self._lock:
            now = datetime.now(UTC)
            self._since = {reason: self._since.get(reason, now) for reason in reasons if reason}
            return tuple(f"{reason} (since {at:%Y-%m-%dT%H:%M:%SZ})" for reason, at in self._since.items())
