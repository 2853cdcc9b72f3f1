"""Errors of the work itself. The class says what becomes of the item.

    PermanentItemError   no further attempt can help: the job fails with this error
    NotYet               something it needs is being made elsewhere: the item waits, and loses no attempt
      NoVoiceSlot              all it needs is a place on this worker: it is the next one's to leave
    (StoreUnavailable    a store does not answer: the item is tried again later, and loses no attempt)
    (EngineDied          the engine went away: the item goes back, innocent)
    (PostProcessorsClosed     the worker is leaving: the item goes back, and loses no attempt)
    (WorkDropped         the result is not wanted: nothing is said about the item)

Those in brackets belong to `storage.errors`, `worker.engine.errors`, `worker.speech.postprocessing.dispatch` and
`worker.items.leases.keeper`.
"""

from __future__ import annotations

from storage.jobs.record import JobError

FAULT = "a fault of this server; its log says which"
"""The detail of `internal`: what an exception says may name paths and hosts, which are no tenant's business."""


class PermanentItemError(Exception):
    """The item can never be finished; `error` is what the job's record will say."""

    def __init__(self, error: JobError) -> None:
        super().__init__(f"{error.code}: {error.detail}")
        self.error = error


class NotYet(Exception):
    """What the item needs is not there yet; it is worth looking again after `delay_s`."""

    def __init__(self, delay_s: float) -> None:
        super().__init__(f"not yet, again in {delay_s} s")
        self.delay_s = delay_s


class NoVoiceSlot(NotYet):
    """Every place to prepare a voice is taken; after `delay_s` it is worth looking whether one is free unnoticed."""


def unusable(code: str, detail: str, segment: int | None = None) -> PermanentItemError:
    """`code` is one of the public contract's."""
    return PermanentItemError(JobError(code, detail, segment))
