"""How far a batch's results have been read; survives any number of connections."""

from __future__ import annotations

from rhapsode.client.batches.calls import BatchResult, read_result
from rhapsode.client.retries import Attempts


class ResultCursor:
    """The number of lines that were returned. Their order is the file's, so a further connection starts after them."""

    def __init__(self, attempts: Attempts) -> None:
        self._attempts = attempts
        self._handed_on = 0

    def params(self) -> dict[str, int]:
        return {"offset": self._handed_on} if self._handed_on else {}

    def take(self, line: str) -> BatchResult:
        result = read_result(line)
        self._handed_on += 1
        self._attempts.reset()
        return result
