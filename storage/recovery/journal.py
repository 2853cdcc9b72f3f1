"""What was accepted, written beside Redis: the one thing that a backup of Redis cannot know.

Each API process collects the jobs it accepted and writes them as one object a second. Nothing waits for it: a job is
safe in Redis when it is accepted, and here a second later. It is read after Redis was restored from a backup, by
`storage.recovery.reconcile`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime

from pydantic import ValidationError
from ulid import ULID

from storage.errors import StorageError, StoreUnavailable
from storage.jobs.record_codec import decode_submission, encode_submission
from storage.jobs.submissions import Submission
from storage.objects.store import ArtifactStore
from storage.runtime.observability.metrics import counter
from storage.runtime.watched import watched_thread

logger = logging.getLogger(__name__)

PREFIX = "journal/"
"""Of every system on the store; each has its folder in it."""

INTERVAL_S = 1.0
MOST_PENDING = 100_000
"""Jobs that wait for a store that is away; about 100 MB."""

KEPT_S = 7 * 24 * 3600.0
"""How long the journal is kept: as long as a backup may be old."""

_DROPPED = counter("rhapsode_journal_dropped_jobs")


class JournalUnreadable(StorageError):
    """An object of the journal is damaged; the message names it."""


def decode_lines(key: str, data: bytes) -> tuple[Submission, ...]:
    """Raises `JournalUnreadable`."""
    try:
        return tuple(map(decode_submission, data.splitlines()))
    except ValidationError as error:
        raise JournalUnreadable(f"{key} is damaged: {error}") from error


def journal_keys(artifacts: ArtifactStore, key_prefix: str, after: str | None) -> Iterator[str]:
    """Every object of this system's journal, the oldest first, behind the one named. Raises `StoreUnavailable`."""
    return (entry.key for entry in artifacts.list(_folder(key_prefix)) if after is None or entry.key > after)


def journal_since(artifacts: ArtifactStore, key_prefix: str, since_s: float) -> Iterator[str]:
    """Those objects that were written after this Unix time. Raises `StoreUnavailable`."""
    return (entry.key for entry in artifacts.list(_folder(key_prefix)) if entry.modified_at_s > since_s)


class Journal:
    """The writing side. Any thread may call `add`."""

    def __init__(self, artifacts: ArtifactStore, key_prefix: str) -> None:
        self._artifacts = artifacts
        self._folder = _folder(key_prefix)
        self._lock = threading.Lock()
        self._pending: list[str] = []
        self._closing = threading.Event()
        self._thread = watched_thread("journal", self._run, self._closing)
        self._thread.start()

    def add(self, submission: Submission) -> None:
        """This job was accepted. Returns at once."""
        line = encode_submission(submission)
        with self._lock:
            if len(self._pending) < MOST_PENDING:
                self._pending.append(line)
                return
        _DROPPED.inc()

    def close(self) -> None:
        """Write what is left. Idempotent."""
        self._closing.set()
        self._thread.join()

    def write_now(self) -> None:
        """Everything pending as one object; what the store does not take now stays for the next time."""
        with self._lock:
            lines, self._pending = self._pending, []
        if not lines:
            return
        day = datetime.now(UTC).strftime("%Y-%m-%d")
        try:
            self._artifacts.put(f"{self._folder}{day}/{str(ULID()).lower()}.jsonl", "\n".join(lines).encode())
        except Exception as error:  # whatever it is, the lines must stay pending
            with self._lock:
                self._pending = lines + self._pending
            if not isinstance(error, StoreUnavailable):
                raise
            logger.warning("journal not written", extra={"jobs": len(lines), "error": str(error)})

    def _run(self) -> None:
        while not self._closing.wait(INTERVAL_S):
            self.write_now()
        self.write_now()


def sweep_journal(artifacts: ArtifactStore) -> int:
    """Remove what no backup can be older than; returns how many objects went. Raises `StoreUnavailable`."""
    old = [entry.key for entry in artifacts.list(PREFIX) if time.time() - entry.modified_at_s > KEPT_S]
    for key in old:
        artifacts.delete(key)
    return len(old)


def _folder(key_prefix: str) -> str:
    return f"{PREFIX}{key_prefix}/"
