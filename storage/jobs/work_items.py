"""The items that workers claim: under which lease, with what their work needs, and how they go back. Pure."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from reading.drafting.warnings import TextWarning
from rhapsode.contract.jobs.states import JobClass
from storage.ids import JobId, TenantId
from storage.jobs.record import JobSpec
from storage.narration.spec import NarrationSpec
from storage.segments.edits import FIRST_TAKE, UNEDITED, SegmentEdit

PLAN_ITEM = "plan"
ASSEMBLE_ITEM = "assemble"
"""Item names; a segment's item name is its index in decimal."""


@dataclass(frozen=True, slots=True)
class WorkerIdentity:
    """A worker process: `name` survives a restart, `boot_id` does not."""

    name: str
    boot_id: str


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to finish one item. The fence grows with every claim; only the newest may commit."""

    job: JobId
    tenant: TenantId
    item: str
    fence: int


@dataclass(frozen=True, slots=True)
class ClaimedItem:
    """An item under lease, with what its work needs.

    attempt: 1 for the first try. suspicions: engine deaths this item was present at. edit: stands over the plan of a
    segment. take: of a segment, the number of the one to make, 1 for the first. rejected_attempts: attempts at the
    segment before its job was reopened. waited_ms: how long its job had waited for this turn.
    trace: the trace that its job is part of, as W3C traceparent; "" if none. recovered: Redis was restored from a
    backup, so the store may hold what is to be made. plan_document: of a whole job, its plan; warnings: what its record
    warns of so far.
    """

    lease: Lease
    attempt: int
    suspicions: int
    spec: JobSpec
    input_key: str
    plan_key: str | None
    deadline_ms: int | None
    edit: SegmentEdit = UNEDITED
    take: int = FIRST_TAKE
    job_class: JobClass = JobClass.BULK
    rejected_attempts: int = 0
    waited_ms: int = 0
    trace: str = ""
    recovered: bool = False
    plan_document: str = ""
    warnings: tuple[TextWarning, ...] = ()

    @property
    def narration(self) -> NarrationSpec:
        """The spec of an item that belongs to a narration."""
        if not isinstance(self.spec, NarrationSpec):
            raise TypeError(f"{self.lease.item} of {self.lease.job} is no part of a narration")
        return self.spec


class LeaseStatus(enum.StrEnum):
    HELD = "held"
    LOST = "lost"
    ABORTED = "aborted"


QUARANTINE_SUSPICIONS = 3
"""From so many suspicions on an item runs alone in its engine, and only then do its deaths cost attempts."""


class ReleaseReason(enum.StrEnum):
    """Why an item goes back without a result.

    All but SHUTDOWN add one suspicion, and charge the attempt only if the item ran alone: an item that shares a batch
    with poison is innocent until it fails alone. A suspect that still waited to run alone is held nothing against.
    """

    SHUTDOWN = "shutdown"
    """The worker is leaving; nothing is held against the item."""

    ENGINE_DIED = "engine_died"
    """The engine died with this item in its batch."""

    WORKER_DIED = "worker_died"
    """A new boot_id of the worker found its predecessor's lease."""

    LEASE_EXPIRED = "lease_expired"
    """The lease was not extended in time."""


@dataclass(frozen=True, slots=True)
class PlanResult:
    """input_chars: of the text, where that is known only now.

    first_words: of the text. warnings: what the owner should know of the text, although it is spoken.
    """

    plan_key: str
    num_segments: int
    estimated_audio_ms: int
    input_chars: int | None = None
    warnings: tuple[TextWarning, ...] = ()
    first_words: str = ""
