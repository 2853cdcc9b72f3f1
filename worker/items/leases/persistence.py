"""Retries, so that finished work survives a short outage of a store."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import cache, partial
from typing import ParamSpec, Protocol, TypeVar

from reading.plan.plan import PlanSegment
from storage.errors import ArtifactMissing, StoreUnavailable
from storage.jobs.work_items import ClaimedItem
from storage.objects import keys
from storage.objects.store import ArtifactStore
from storage.segments.edited import edited_aloud
from storage.segments.edits import SegmentEdit
from worker.errors import unusable
from worker.items.leases.keeper import HeldLease
from worker.items.leases.put_once import put_once

P = ParamSpec("P")
T = TypeVar("T")

FIRST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 3.0


class StorePatience(Protocol):
    """A caller of a store, and its time limit: a lease, or a live stream."""

    @property
    def patience_s(self) -> float: ...

    def check(self) -> None:
        """Raises if the work is not wanted any more."""
        ...


def until_available(held: StorePatience, call: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """The result of an idempotent call, repeated while a store is silent: under a lease for four of its lengths.

    Raises the last `StoreUnavailable` then, or what `check` does (`WorkDropped`).
    """
    return _repeated(partial(call, *args, **named), held.patience_s, held.check)


def settle(patience_s: float, call: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """As `until_available`, for the last word about an item, which must be said even if its lease was dropped."""
    return _repeated(partial(call, *args, **named), patience_s, lambda: None)


def put_fenced(artifacts: ArtifactStore, key: str, data: bytes, held: HeldLease) -> str:
    """Store `data` under a key that carries the fence of our own lease; returns its sha256."""
    return until_available(held, put_once, artifacts, key, data)


def as_edited(
    item: ClaimedItem, held: HeldLease, artifacts: ArtifactStore
) -> Callable[[PlanSegment, SegmentEdit], PlanSegment]:
    """Raises `PermanentItemError` when called, if the store has lost or damaged a dictionary of the job."""
    request = item.narration.request

    @cache
    def dictionary(number: int) -> bytes:
        key = keys.job_dictionary(item.lease.tenant, item.lease.job, number)
        return until_available(held, artifacts.get, key)

    def said(planned: PlanSegment, edit: SegmentEdit) -> PlanSegment:
        names = range(len(request.pronunciation_dictionaries)) if edit.changes_words else ()
        try:
            return edited_aloud(planned, edit, request, [dictionary(number) for number in names])
        except ArtifactMissing as error:
            raise unusable("internal", "a pronunciation dictionary of the job is not in the store any more") from error
        except ValueError as error:
            raise unusable("internal", str(error)) from error

    return said


def _repeated(call: Callable[[], T], patience_s: float, check: Callable[[], None]) -> T:
    give_up_at = time.monotonic() + patience_s
    pause_s = FIRST_PAUSE_S
    while True:
        try:
            return call()
        except StoreUnavailable:
            if time.monotonic() + pause_s > give_up_at:
                raise
        check()
        time.sleep(random.uniform(pause_s / 2, pause_s))
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
