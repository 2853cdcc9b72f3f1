"""Errors of the stores. The class says what the caller should do; HTTP codes are the API's business.

StorageError
├── JobNotFound            no such job for this tenant
├── JobGone                the job existed; its retention is over or it was deleted
├── StateConflict          the job's state does not allow this
│   ├── SegmentBusy        a worker speaks the segment; wait for it
│   ├── SegmentsMissing    not every segment is done; retry the job first
│   ├── TooManyTakes       the segment has as many takes as it may
│   ├── StartPassed        the job does not wait for a time to start
│   └── StartTooLate       the job would start after its deadline
├── SegmentNotFound        the job has no such segment or take, or is not planned yet
├── KeyNotFound            no such API key, or it was revoked
├── IdempotencyMismatch    the key was used with another request
├── IdempotencyInProgress  the key's first request is still being carried out; repeat this one
├── AdmissionRefused       try again after `retry_after_s`, if there is one
│   ├── QuotaExceeded      this tenant's own limit
│   └── BacklogFull        the system's limit
├── LeaseLost              another worker holds the item now, or none; drop the work
├── AuditOvertaken       another audit began; its result counts
├── JobAborted             the job was cancelled, failed or expired meanwhile; drop the work
├── DictionaryNotFound     no such pronunciation dictionary for this tenant
├── VoiceNotFound          no such voice for this tenant
├── VoiceGone              the voice existed and was deleted
├── VoiceNameTaken         this tenant has a voice of that name
├── VoiceChanged           the voice got another recording meanwhile; read it again
├── BuildRefused           the cache is not wanted any more, or another worker builds it; delete what you stored
├── ArtifactError
│   ├── ArtifactMissing    no object under this key
│   ├── ArtifactExists     the key is taken; keys are written once
│   └── ArtifactCorrupt    size or sha256 is not what was recorded
└── StoreUnavailable       Redis or the object store does not answer; transient
    └── StoreFull          the object store has no space left
"""

from __future__ import annotations


class StorageError(Exception):
    """A store could not do what was asked."""


class JobNotFound(StorageError):
    """No such job."""


class JobGone(StorageError):
    """The job's record and artifacts were deleted."""


class StateConflict(StorageError):
    """The job's state does not allow this."""

    def __init__(self, state: str, action: str) -> None:
        super().__init__(f"a job that is {state} cannot be {action}")


class SegmentBusy(StateConflict):
    """A worker speaks the segment."""

    def __init__(self) -> None:
        StorageError.__init__(self, "a worker is speaking this segment; try again when it is done")


class SegmentsMissing(StateConflict):
    """Not every segment is done."""

    def __init__(self) -> None:
        StorageError.__init__(self, "not every segment is done; retry the job first")


class TooManyTakes(StateConflict):
    """The segment has as many takes as it may."""

    def __init__(self, most: int) -> None:
        StorageError.__init__(self, f"the segment has {most} takes, which is the most; select one of them")


class StartPassed(StateConflict):
    """The job does not wait for a time to start."""

    def __init__(self) -> None:
        StorageError.__init__(self, "the job does not wait for a time to start: none was set, or it has come")


class StartTooLate(StateConflict):
    """The job would start after its deadline."""

    def __init__(self) -> None:
        StorageError.__init__(self, "the job would not start before its deadline; change both, or remove one")


class SegmentNotFound(StorageError):
    """The job has no such segment or take, or is not planned yet."""

    def __init__(self) -> None:
        super().__init__("the job has no such segment or take, or it is not planned yet")


class AuditOvertaken(StorageError):
    """Another audit began before this one had ended; its result counts."""

    def __init__(self) -> None:
        super().__init__("another audit began before this one had ended")


class KeyNotFound(StorageError):
    """No such API key."""


class IdempotencyMismatch(StorageError):
    """The idempotency key was used with another request."""


class IdempotencyInProgress(StorageError):
    """The request that holds this idempotency key is still being carried out."""


class AdmissionRefused(StorageError):
    """A limit is reached.

    retry_after_s: when there will probably be room; None where waiting is of no use and something has to be deleted, or
    more be allowed. held, most: of what the limit counts, what there is and what may be.
    """

    def __init__(self, limit: str, held: int, most: int, retry_after_s: float | None = None) -> None:
        advice = "" if retry_after_s is None else f"; try again in {retry_after_s:.0f} s"
        super().__init__(f"{limit} is reached: {held:,} of {most:,}{advice}")
        self.limit = limit
        self.held = held
        self.most = most
        self.retry_after_s = retry_after_s


class QuotaExceeded(AdmissionRefused):
    """A limit of this tenant is reached."""


class BacklogFull(AdmissionRefused):
    """A limit of the whole system is reached."""


def refusal_of(limit: str, held: int, most: int, wait_s: float | None) -> AdmissionRefused:
    """By whose limit it is."""
    refusal = QuotaExceeded if limit.startswith("tenant_") else BacklogFull
    return refusal(limit, held, most, wait_s)


class LeaseLost(StorageError):
    """The lease is held by no worker or by another one."""


class JobAborted(StorageError):
    """The job ended while the work was under way."""


class DictionaryNotFound(StorageError):
    """No such pronunciation dictionary."""


class VoiceNotFound(StorageError):
    """No such voice."""


class VoiceGone(StorageError):
    """The voice and its caches were deleted."""


class VoiceNameTaken(StorageError):
    """This tenant has a voice of that name."""

    def __init__(self, name: str, voice: str) -> None:
        super().__init__(f"the voice {voice} is already called {name!r}")
        self.voice = voice


class VoiceChanged(StorageError):
    """The voice has another recording than the one that was to be replaced."""


class BuildRefused(StorageError):
    """The cache was deleted or its build is another worker's now."""


class ArtifactError(StorageError):
    """The object store refused."""


class ArtifactMissing(ArtifactError):
    """There is no object under this key."""


class ArtifactExists(ArtifactError):
    """There is an object under this key already."""


class ArtifactCorrupt(ArtifactError):
    """The object is not the one that was recorded."""


class StoreUnavailable(StorageError):
    """Redis or the object store does not answer."""


class StoreFull(StoreUnavailable):
    """The object store takes no more; the message is for callers too."""
