"""Which segments of a job are stored as one object: those that come to be stored within a second or so.

A request to an S3 server costs as much for a pack as for one segment, and a folder is synced once for all. A packed
segment waits for its neighbours, but never long. Three kinds do not wait: a job's first segment, the segments of a slow
job, and the last one that this worker has of a job.

A pack is one try. A segment outside a pack, or of a pack that could not be stored, is stored by itself. So a segment
never fails because of its neighbours.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field

from storage.ids import JobId
from storage.jobs.work_items import Lease
from storage.runtime.config.failpoints import failpoint
from storage.runtime.observability.metrics import counter
from storage.segments.packs import MAX_SEGMENTS
from worker.speech.postprocessing.interface import PackPart, StoredSpeech

logger = logging.getLogger(__name__)

FIRST_SEGMENT = "0"

PLACES_SHARE = 4
"""One segment may be in a pack for so many slots of the engine. A worker has threads for half as many segments again as
it has slots, and packs must leave it as many of those as it needs without them."""

StorePack = Callable[[Sequence[PackPart]], Sequence[StoredSpeech]]

_PACKS = counter("rhapsode_segment_packs")
_PACKED = counter("rhapsode_packed_segments")


@dataclass(slots=True, eq=False)
class _Pack:
    """Open, until a thread closes it; then its first segment's thread stores it. stored: None for one that was not."""

    until_s: float
    parts: list[PackPart] = field(default_factory=list[PackPart])
    is_closed: bool = False
    stored: Future[Sequence[StoredSpeech] | None] = field(default_factory=Future[Sequence[StoredSpeech] | None])


@dataclass(slots=True, eq=False)
class _JobHere:
    """A job of which this worker has items. to_come: those that have not come to be stored yet."""

    items: set[Lease] = field(default_factory=set[Lease])
    to_come: set[Lease] = field(default_factory=set[Lease])
    last_came_s: float = float("-inf")
    pack: _Pack | None = None


class SegmentPacker:
    """Any thread may call any method.

    places: segments that may be in packs which are not stored yet, over all jobs. A pack that takes the last is stored
    at once, and what comes meanwhile goes by itself: where storing is slow, packs hold nothing up.
    wait_s: how long the first of a pack waits; with 0, nothing is packed.
    """

    def __init__(self, places: int, wait_s: float = 1.0) -> None:
        self._places = places
        self._wait_s = wait_s
        self._jobs: dict[JobId, _JobHere] = {}
        self._waiting = 0
        self._changed = threading.Condition()

    @property
    def waiting(self) -> int:
        """Segments in packs that are not stored yet."""
        return self._waiting

    @contextmanager
    def under_way(self, lease: Lease) -> Generator[None]:
        """For the time from an item's claim to its end."""
        with self._changed:
            job = self._jobs.setdefault(lease.job, _JobHere())
            job.items.add(lease)
            job.to_come.add(lease)
        try:
            yield
        finally:
            with self._changed:
                job.items.discard(lease)
                self._comes_no_more(job, lease)
                if not job.items:
                    del self._jobs[lease.job]

    def stored_with_others(self, lease: Lease, part: PackPart, store: StorePack) -> StoredSpeech | None:
        """Where it lies with others of its job; None of one that is to be stored by itself.

        What is not under way is stored by itself. store: of whole packs; that of one of their segments is called. Waits
        for the others, and for the store.
        """
        with self._changed:
            job = self._jobs.get(lease.job)
            pack = job and self._joined(job, lease, part)
            if not job or not pack:
                return None
            number = len(pack.parts) - 1
            if number == 0:
                self._wait_for_others(job, pack)
        if number == 0:
            self._settle(pack, store)
        stored = pack.stored.result()
        return None if stored is None else stored[number]

    def _settle(self, pack: _Pack, store: StorePack) -> None:
        """Store a closed pack, once. Whatever happens, every waiting thread gets an answer."""
        stored: Sequence[StoredSpeech] | None = None
        try:
            if len(pack.parts) > 1:
                stored = store(pack.parts)
                failpoint("pack.after_put")
                _PACKS.labels("stored").inc()
                _PACKED.inc(len(pack.parts))
        except Exception as error:  # noqa: BLE001  (each segment is stored by itself then, and fails of its own error)
            _PACKS.labels("failed").inc()
            logger.warning("a pack was not stored", extra={"segments": len(pack.parts), "error": str(error)})
        finally:
            with self._changed:
                self._waiting -= len(pack.parts)
            pack.stored.set_result(stored)

    # ------------------------------------------------------------------------------------------ under the lock

    def _joined(self, job: _JobHere, lease: Lease, part: PackPart) -> _Pack | None:
        now_s = time.monotonic()
        comes_soon_after = now_s - job.last_came_s < self._wait_s
        job.last_came_s = now_s
        if lease.item == FIRST_SEGMENT:
            self._comes_no_more(job, lease)
            return None
        job.to_come.discard(lease)
        if job.pack is None:
            if not comes_soon_after or not job.to_come or self._waiting >= self._places:
                return None
            job.pack = _Pack(now_s + self._wait_s)
        pack = job.pack
        pack.parts.append(part)
        self._waiting += 1
        if len(pack.parts) == MAX_SEGMENTS or not job.to_come or self._waiting >= self._places:
            self._close(job, pack)
        return pack

    def _comes_no_more(self, job: _JobHere, lease: Lease) -> None:
        job.to_come.discard(lease)
        if job.pack is not None and not job.to_come:
            self._close(job, job.pack)

    def _wait_for_others(self, job: _JobHere, pack: _Pack) -> None:
        self._changed.wait_for(lambda: pack.is_closed, pack.until_s - time.monotonic())
        if not pack.is_closed:
            self._close(job, pack)

    def _close(self, job: _JobHere, pack: _Pack) -> None:
        """Nothing joins it any more."""
        pack.is_closed = True
        job.pack = None
        self._changed.notify_all()
