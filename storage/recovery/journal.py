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

from pydantic import BaseModel, ConfigDict, ValidationError
from ulid import ULID

from rhapsode.contract.jobs.states import Priority
from storage.errors import StoreUnavailable
from storage.ids import JobId, TenantId
from storage.jobs.record_codec import decode_spec, encode_spec
from storage.jobs.submissions import IdempotencyKey, Submission
from storage.jobs.webhook_target import JobWebhook
from storage.objects.store import ArtifactStore
from storage.runtime.observability.metrics import counter

logger = logging.getLogger(__name__)

PREFIX = "journal/"
"""Of every system on the store; each has a folder of its own in it."""

INTERVAL_S = 1.0
MOST_PENDING = 100_000
"""Jobs that wait for a store that is away; about 100 MB."""

KEPT_S = 7 * 24 * 3600.0
"""How long the journal is kept: as long as a backup may be old."""

_DROPPED = counter("rhapsode_journal_dropped_jobs")


class JournalUnreadable(Exception):
    """An object of the journal is damaged; the message names it."""


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    tenant: str
    spec: str
    priority: str
    input_key: str
    input_chars: int
    estimated_audio_ms: int
    retention_s: int
    deadline_ms: int | None
    metadata: dict[str, str]
    idempotency: IdempotencyKey | None
    webhook: JobWebhook | None
    batch: str | None
    key_id: str
    stored_bytes: int
    not_before_ms: int | None = None


def encode_line(submission: Submission) -> str:
    """Without its trace, which is over by the time anybody reads this."""
    return _Line(
        id=submission.id,
        tenant=submission.tenant,
        spec=encode_spec(submission.spec),
        priority=submission.priority.value,
        input_key=submission.input_key,
        input_chars=submission.input_chars,
        estimated_audio_ms=submission.estimated_audio_ms,
        retention_s=submission.retention_s,
        deadline_ms=submission.deadline_ms,
        metadata=submission.metadata,
        idempotency=submission.idempotency,
        webhook=submission.webhook,
        batch=submission.batch,
        key_id=submission.key_id,
        stored_bytes=submission.stored_bytes,
        not_before_ms=submission.not_before_ms,
    ).model_dump_json()


def decode_lines(key: str, data: bytes) -> tuple[Submission, ...]:
    """Raises `JournalUnreadable`."""
    try:
        return tuple(_submission(_Line.model_validate_json(line)) for line in data.splitlines())
    except (ValidationError, ValueError) as error:
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
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
        self._thread.start()

    def add(self, submission: Submission) -> None:
        """This job was accepted. Returns at once."""
        line = encode_line(submission)
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
        except StoreUnavailable as error:
            logger.warning("journal not written", extra={"jobs": len(lines), "error": str(error)})
            with self._lock:
                self._pending = lines + self._pending

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


def _submission(line: _Line) -> Submission:
    return Submission(
        id=JobId(line.id),
        tenant=TenantId(line.tenant),
        spec=decode_spec(line.spec),
        priority=Priority(line.priority),
        input_key=line.input_key,
        input_chars=line.input_chars,
        estimated_audio_ms=line.estimated_audio_ms,
        retention_s=line.retention_s,
        deadline_ms=line.deadline_ms,
        metadata=line.metadata,
        idempotency=line.idempotency,
        webhook=line.webhook,
        batch=JobId(line.batch) if line.batch else None,
        key_id=line.key_id,
        stored_bytes=line.stored_bytes,
        not_before_ms=line.not_before_ms,
    )
