"""Following a batch without doing I/O: its results, how far they have been read, and when to look again."""

from __future__ import annotations

import math
import time

from pydantic import ValidationError

from rhapsode.client.retries import Attempts
from rhapsode.contract.base import Answer
from rhapsode.contract.batches import Batch
from rhapsode.contract.jobs.answer import Artifact
from rhapsode.contract.jobs.failure import JobProblem
from rhapsode.contract.jobs.states import JobState
from rhapsode.errors import BadAnswer, BatchWaitTimedOut

FIRST_PAUSE_S = 0.2
LAST_PAUSE_S = 5.0


class BatchResult(Answer):
    """What became of one line. line: its number in the file, from 1. job_id and state: None while it is no job."""

    custom_id: str
    line: int
    job_id: str | None
    state: JobState | None
    artifacts: tuple[Artifact, ...]
    error: JobProblem | None
    audio_s: float


class ResultCursor:
    """The number of lines that were returned. Their order is the file's, so a further connection starts after them."""

    def __init__(self, attempts: Attempts) -> None:
        self._attempts = attempts
        self._handed_on = 0

    def params(self) -> dict[str, int]:
        return {"offset": self._handed_on} if self._handed_on else {}

    def take(self, line: str) -> BatchResult:
        """Raises `BadAnswer`."""
        try:
            result = BatchResult.model_validate_json(line, extra="ignore")
        except ValidationError as error:
            raise BadAnswer(f"not a result of a batch: {line[:200]!r}") from error
        self._handed_on += 1
        self._attempts.reset()
        return result


class PollPauses:
    """Each a half longer than the one before, up to five seconds."""

    def __init__(self, timeout_s: float | None) -> None:
        self._timeout_s = math.inf if timeout_s is None else timeout_s
        self._until_s = time.monotonic() + self._timeout_s
        self._pause_s = FIRST_PAUSE_S

    def next_s(self, seen: Batch) -> float:
        """Raises `BatchWaitTimedOut`."""
        left_s = self._until_s - time.monotonic()
        if left_s <= 0:
            raise BatchWaitTimedOut(seen, self._timeout_s)
        pause_s, self._pause_s = self._pause_s, min(self._pause_s * 1.5, LAST_PAUSE_S)
        return min(pause_s, left_s)
