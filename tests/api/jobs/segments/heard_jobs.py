"""A job whose segments a test speaks by hand, and somebody who listens to it meanwhile."""

from __future__ import annotations

import hashlib
import struct
import threading
from collections.abc import Generator
from contextlib import contextmanager

import httpx

from reading.plan.plan import Plan, PlanSegment, encode_plan
from storage.ids import JobId
from storage.jobs.record import ArtifactRecord
from storage.jobs.work_items import ClaimedItem, Lease, PlanResult
from storage.jobs.work_queues import CPU_QUEUE
from storage.objects import keys
from storage.segments.file import SegmentHeader, StoredSegment, encode_segment
from storage.segments.packs import PackPlace, encode_pack
from storage.segments.results import SegmentReport
from storage.segments.timeline import num_gap_samples
from tests.api.harness import GPU_QUEUE, ServedApi, claim, job_id

RATE_HZ = 24_000
PAUSE_S = 0.5
GAP = bytes(2 * num_gap_samples(PAUSE_S, RATE_HZ))


def planned_job(api: ServedApi, num_segments: int, speed: float = 1.0) -> JobId:
    job = job_id(api.submit("Good morning, everybody.", output={"speed": speed}))
    item = claim(api, CPU_QUEUE)
    pauses = [PAUSE_S] * (num_segments - 1) + [0.0]
    segments = tuple(PlanSegment(i, i, i + 1, f"Segment {i}.", pause_s) for i, pause_s in enumerate(pauses))
    api.objects.put(keys.plan(item.lease), encode_plan(Plan(segments)))
    api.jobs.commit_plan(item.lease, PlanResult(keys.plan(item.lease), num_segments, 3_000))
    return job


def pcm(index: int) -> bytes:
    """Half a second that is of this segment alone."""
    return struct.pack("<h", 100 + index) * (RATE_HZ // 2)


def claim_all(api: ServedApi, num_segments: int) -> dict[int, ClaimedItem]:
    items = [claim(api, GPU_QUEUE) for _ in range(num_segments)]
    return {int(item.lease.item): item for item in items}


def speak(api: ServedApi, item: ClaimedItem) -> None:
    lease, data = item.lease, file_of(item.lease)
    api.objects.put(keys.segment(lease.tenant, lease.job, int(lease.item), lease.fence), data)
    commit(api, lease, hashlib.sha256(data).hexdigest())


def speak_together(api: ServedApi, *items: ClaimedItem) -> str:
    """The key of their pack."""
    leases = [item.lease for item in items]
    pack = encode_pack([(int(lease.item), lease.fence, file_of(lease)) for lease in leases])
    key = keys.pack(leases[0].tenant, leases[0].job, pack.name)
    api.objects.put(key, pack.data)
    for lease, packed in zip(leases, pack.segments, strict=True):
        commit(api, lease, packed.sha256, PackPlace(pack.name, packed.offset, packed.num_bytes))
    return key


def file_of(lease: Lease) -> bytes:
    index = int(lease.item)
    header = SegmentHeader(lease.job, index, lease.fence, "ab" * 32, 1, "eos", "small", "r1", RATE_HZ)
    return encode_segment(StoredSegment(header, pcm(index), b"\0" * 32, 16))


def commit(api: ServedApi, lease: Lease, sha256: str, place: PackPlace | None = None) -> None:
    api.jobs.commit_segment(lease, SegmentReport(RATE_HZ // 2, RATE_HZ, 10, sha256, "eos", 50, place=place))


def finish(api: ServedApi) -> None:
    item = claim(api, CPU_QUEUE)
    stored = api.objects.put(keys.artifact(item.lease, "narration.wav"), b"RIFF")
    api.jobs.finish(item.lease, [ArtifactRecord("narration.wav", "wav", stored.key, 4, stored.sha256, 2.0)])


def spoken(*indices: int) -> bytes:
    """The samples of these segments with the pauses between them."""
    return GAP.join(pcm(index) for index in indices)


class Listener:
    """Reads the stream in a thread of its own, as it comes; there is a stream once this is built."""

    def __init__(self, api: ServedApi, job: JobId) -> None:
        self.heard = bytearray()
        self._new = threading.Condition()
        self._is_answered = self._ended = False
        self._thread = threading.Thread(target=self._listen, args=(api.url, job))
        self._thread.start()
        with self._new:
            assert self._new.wait_for(lambda: self._is_answered, 60)

    def _listen(self, url: str, job: JobId) -> None:
        with httpx.stream("GET", f"{url}/v1/jobs/{job}/audio", timeout=60) as answer:
            with self._new:
                self._is_answered = True
                self._new.notify_all()
            for piece in answer.iter_raw():
                with self._new:
                    self.heard += piece
                    self._new.notify_all()
        with self._new:
            self._ended = True
            self._new.notify_all()

    def wait_for(self, num_bytes: int) -> None:
        with self._new:
            assert self._new.wait_for(lambda: len(self.heard) >= num_bytes or self._ended, 60)

    def end(self) -> bytes:
        self._thread.join(60)
        assert not self._thread.is_alive()
        return bytes(self.heard)


@contextmanager
def listening(api: ServedApi, job: JobId) -> Generator[Listener]:
    listener = Listener(api, job)
    yield listener
    listener.end()
