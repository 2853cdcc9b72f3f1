"""A job's segments in packs: the same speech, fewer objects, and what becomes of a pack touches nothing else."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import redis

from rhapsode.contract.jobs.narration import SegmentLengths
from rhapsode.contract.jobs.states import JobState
from storage.ids import TenantId
from storage.job_store.control import JobControl
from storage.job_store.segment_reuse import ReusableSegment, ReuseIndex
from storage.jobs.record import JobRecord
from storage.jobs.work_items import ClaimedItem
from storage.jobs.work_queues import CPU_QUEUE
from storage.objects import keys
from storage.objects.store import ArtifactStore
from storage.objects.stored_segments import read_segment_file, segment_key
from storage.runtime.config.settings import StorageSettings
from storage.segments.edits import SegmentEdit
from storage.segments.packs import INDEX_BYTES
from storage.segments.results import SegmentResult
from tests.worker.failing_store import FailingStore
from tests.worker.faulty_engine import FaultyEngine
from tests.worker.studio import SPEC, TENANT, Studio
from worker.engine.fake import FakeEngine
from worker.engine.settings import FakeEngineSettings
from worker.items import gpu_ticket
from worker.items.gpu_ticket import GpuTickets
from worker.items.leases.claim_ahead import ClaimAhead
from worker.speech.audio.segment_audio import decode_segment
from worker.speech.postprocessing.packing import SegmentPacker

SLOTS = 16
TEXT = " ".join(f"The lantern number {number} was never lit again by anybody." for number in range(40))
SPOKEN_SPEC = SPEC.asking(segmentation=SegmentLengths(target_chars=40, max_chars=90))


@pytest.fixture
def crowd(studio: Studio) -> Iterator[Studio]:
    """A worker with many slots, whose segments wait for each other as long as there are any to come."""
    engine = FakeEngine(FakeEngineSettings(slots=SLOTS, step_s=0.0005))
    services = replace(studio.services, engine=engine, ahead=ClaimAhead(SLOTS), packer=SegmentPacker(64, 20.0))
    yield replace(studio, services=services)
    engine.close()


def drain(studio: Studio) -> None:
    """Run every ready item, those that speak in many threads."""
    while any(studio.jobs.ready_counts().values()):
        while studio.jobs.ready_counts()[CPU_QUEUE]:
            studio.run_one(CPU_QUEUE)
        tickets = GpuTickets(studio.services, 2 * SLOTS)
        tickets.answer()
        tickets.close()


def finished(studio: Studio, text: str = TEXT) -> JobRecord:
    job = studio.submit(text, SPOKEN_SPEC)
    drain(studio)
    record = studio.record(job)
    assert record.state is JobState.SUCCEEDED, record.error
    return record


def results(studio: Studio, job: JobRecord) -> list[SegmentResult]:
    return studio.jobs.segment_results(TENANT, job.id)


def objects(studio: Studio, job: JobRecord) -> set[str]:
    """That its segments lie in."""
    return {segment_key(TENANT, job.id, each) for each in results(studio, job)}


def packs(studio: Studio, job: JobRecord) -> list[str]:
    return [entry.key for entry in studio.artifacts.list(keys.packs_prefix(TENANT, job.id))]


def wav(studio: Studio, job: JobRecord) -> bytes:
    return studio.artifacts.get(next(each.key for each in studio.record(job).artifacts if each.type == "wav"))


def expected_sha256(studio: Studio) -> str:
    """Of the same text in a worker that speaks one segment after the other, each in an object of its own."""
    job = studio.submit(TEXT, SPOKEN_SPEC)
    studio.drain()
    assert packs(studio, job) == []
    return hashlib.sha256(wav(studio, job)).hexdigest()


def replaced(studio: Studio, key: str, change: Callable[[bytes], bytes]) -> None:
    data = studio.artifacts.get(key)
    studio.artifacts.delete(key)
    studio.artifacts.put(key, change(data))


@pytest.mark.parametrize("place", ["local", "s3"])
def test_a_job_in_packs_is_the_same_speech_in_fewer_objects(
    crowd: Studio, studio: Studio, place: str, request: pytest.FixtureRequest
) -> None:
    store: ArtifactStore = request.getfixturevalue(f"{place}_store") if place == "s3" else crowd.artifacts
    there = replace(crowd.with_artifacts(store), artifacts=store)

    record = finished(there)

    assert record.segments.total >= 40
    assert len(objects(there, record)) <= record.segments.total // 2
    assert hashlib.sha256(wav(there, record)).hexdigest() == expected_sha256(studio)
    assert crowd.jobs.audit_counters() == ()
    assert crowd.services.packer.waiting == 0


def test_the_first_segment_is_an_object_of_its_own(crowd: Studio) -> None:
    first, *_ = results(crowd, finished(crowd))

    assert (first.index, first.place) == (0, None)


def test_an_edit_leaves_the_pack_and_an_earlier_take_is_still_heard(crowd: Studio, control: JobControl) -> None:
    job = finished(crowd)
    before = packs(crowd, job)
    packed = next(each for each in results(crowd, job) if each.place)
    first_wav = wav(crowd, job)

    control.edit(TENANT, job.id, {packed.index: SegmentEdit(text="Another one stands in its place.")})
    drain(crowd)
    edited = next(each for each in results(crowd, job) if each.index == packed.index)
    assert edited.place is None
    assert packs(crowd, job) == before
    control.select_takes(TENANT, job.id, {packed.index: 1})
    drain(crowd)

    assert next(each for each in results(crowd, job) if each.index == packed.index) == packed
    assert wav(crowd, job) == first_wav
    assert crowd.jobs.audit_counters() == ()


class FoundTogether(ReuseIndex):
    """Answers eight at a time: when the first of them comes to be stored, the others are under way."""

    def __init__(self, index: ReuseIndex) -> None:
        self._index = index
        self._changed = threading.Condition()
        self._asked = 0

    def find(self, tenant: TenantId, content_id: str) -> ReusableSegment | None:
        with self._changed:
            group = self._asked // 8
            self._asked += 1
            self._changed.notify_all()
            assert self._changed.wait_for(lambda: self._asked >= 8 * (group + 1), 60)
        return self._index.find(tenant, content_id)


def test_copies_are_packed_as_well_and_outlive_what_they_were_copied_from(crowd: Studio) -> None:
    engine = FaultyEngine({}, 0.0)
    counted = replace(crowd, services=replace(crowd.services, engine=engine))
    spec = replace(SPOKEN_SPEC, seed_fixed=False)
    first = counted.submit(TEXT, spec)
    drain(counted)
    spoken = len(engine.requests)
    together = FoundTogether(counted.services.reuse)
    second = counted.submit(TEXT, spec)
    drain(replace(counted, services=replace(counted.services, reuse=together)))
    counted.jobs.delete(TENANT, first.id)
    counted.artifacts.delete_prefix(keys.job_prefix(TENANT, first.id))

    assert len(engine.requests) == spoken
    record = counted.record(second)
    assert record.segments.reused == record.segments.total
    assert len(objects(counted, second)) <= record.segments.total // 2
    for each in results(counted, second):
        segment = decode_segment(read_segment_file(counted.artifacts, TENANT, second.id, each))
        assert (segment.header.job, segment.header.index, segment.header.reused_from) == (
            second.id,
            each.index,
            first.id,
        )
    third = counted.submit(TEXT, spec)
    drain(counted)
    assert counted.record(third).segments.reused == record.segments.total


def test_a_deleted_jobs_packs_go_with_it(crowd: Studio) -> None:
    job = finished(crowd)
    assert packs(crowd, job)

    crowd.jobs.delete(TENANT, job.id)
    crowd.artifacts.delete_prefix(keys.job_prefix(TENANT, job.id))

    assert list(crowd.artifacts.list(keys.JOBS)) == []


def test_a_job_that_is_deleted_while_its_segments_are_stored_leaves_no_pack(crowd: Studio) -> None:
    job = crowd.submit(TEXT, SPOKEN_SPEC)
    failing = FailingStore(crowd.artifacts)
    packs_put: list[str] = []

    def end_and_delete(key: str) -> None:
        if key.endswith(".pack") and not packs_put:
            packs_put.append(key)
            crowd.jobs.cancel(TENANT, job.id)
            crowd.services.worker.leases.extend_now()
            crowd.jobs.delete(TENANT, job.id)
            crowd.artifacts.delete_prefix(keys.job_prefix(TENANT, job.id))

    failing.before_put = end_and_delete

    drain(replace(crowd.with_artifacts(failing), artifacts=crowd.artifacts))

    assert packs_put
    assert packs_put[0] in failing.puts
    assert list(crowd.artifacts.list(keys.JOBS)) == []


@pytest.mark.parametrize("fault", ["deleted", "half", "changed", "index"])
def test_of_a_pack_that_is_lost_or_damaged_what_is_affected_is_spoken_again_and_nothing_else(
    crowd: Studio, control: JobControl, fault: str
) -> None:
    job = finished(crowd)
    before, spoken = wav(crowd, job), {each.index: each for each in results(crowd, job)}
    struck = max(packs(crowd, job), key=lambda key: sum(segment_key(TENANT, job.id, e) == key for e in spoken.values()))
    inside = sorted(
        (each for each in spoken.values() if segment_key(TENANT, job.id, each) == struck),
        key=lambda each: each.place.offset if each.place else 0,
    )
    affected = {each.index for each in inside}
    match fault:
        case "deleted":
            crowd.artifacts.delete(struck)
        case "half":
            assert inside[0].place is not None
            kept = inside[0].place.num_bytes
            replaced(crowd, struck, lambda data: data[: INDEX_BYTES + kept + 10])
            affected -= {inside[0].index}
        case "changed":
            replaced(crowd, struck, lambda data: data[:-1] + bytes([data[-1] ^ 1]))
            affected = {inside[-1].index}
        case _:
            # Nobody who has the record reads it.
            replaced(crowd, struck, lambda data: bytes(INDEX_BYTES) + data[INDEX_BYTES:])
            affected = set()

    control.assemble(TENANT, job.id, lambda spec: spec, None)
    drain(crowd)

    record, again = crowd.record(job), {each.index: each for each in results(crowd, job)}
    assert record.state is JobState.SUCCEEDED, record.error
    assert {index for index, each in again.items() if each.fence != spoken[index].fence} == affected
    assert {each.segment for each in record.warnings if each.code == "segment_damaged"} == affected
    assert hashlib.sha256(wav(crowd, job)).digest() == hashlib.sha256(before).digest()
    assert record.retries == 0
    assert crowd.jobs.audit_counters() == ()


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_store_that_takes_no_pack_costs_nobody_an_attempt_and_nothing_is_spoken_twice(
    crowd: Studio, studio: Studio, when: str, redis_client: redis.Redis
) -> None:
    """Before it is written, and after: then it lies there and nothing points at it."""
    failing = FailingStore(crowd.artifacts)

    def refuse(key: str) -> None:
        if key.endswith(".pack"):
            raise OSError("a pack met its end")

    setattr(failing, f"{when}_put", refuse)
    engine = FaultyEngine({}, 0.0)
    there = replace(crowd.with_artifacts(failing), artifacts=crowd.artifacts)
    there = replace(there, services=replace(there.services, engine=engine))

    record = finished(there)

    assert len(engine.requests) == record.segments.total
    assert all(each.place is None for each in results(there, record))
    assert bool(packs(there, record)) == (when == "after")
    assert record.retries == 0
    assert redis_client.hgetall(f"{{rhapsode}}:tries:{record.id}") == {}
    assert hashlib.sha256(wav(there, record)).hexdigest() == expected_sha256(studio)


def test_what_lies_in_packs_is_found_by_a_job_whose_record_was_lost(
    crowd: Studio, monkeypatch: pytest.MonkeyPatch, redis_client: redis.Redis, storage_settings: StorageSettings
) -> None:
    job = finished(crowd)
    assert packs(crowd, job)
    before = wav(crowd, job)
    engine = FaultyEngine({}, 0.0)
    again = replace(crowd, services=replace(crowd.services, engine=engine))
    # As after a restore: the record is of before the first segment.
    control = JobControl(redis_client, storage_settings.key_prefix)
    for each in results(crowd, job):
        control.regenerate(TENANT, job.id, each.index, None, None)
    run = gpu_ticket.run_segment

    def recovered(item: ClaimedItem, *rest: object) -> object:
        return run(replace(item, recovered=True, take=1), *rest)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(gpu_ticket, "run_segment", recovered)
    drain(again)

    assert engine.requests == []
    assert crowd.record(job).state is JobState.SUCCEEDED
    assert wav(crowd, job) == before
