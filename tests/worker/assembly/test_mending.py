"""A finished segment that the store lost or damaged is spoken again, and the job says so; it does not loop."""

from __future__ import annotations

from rhapsode.contract.jobs.states import JobState
from storage.job_store.control import JobControl
from storage.jobs.record import ArtifactRecord, JobRecord
from storage.jobs.work_queues import CPU_QUEUE
from storage.objects import keys
from storage.segments.edits import SegmentEdit
from storage.segments.results import SegmentResult
from tests.worker.failing_store import FailingStore
from tests.worker.studio import GPU_QUEUE, TENANT, Studio
from worker.assembly.mending import MOST_ROUNDS


def results(studio: Studio, job: JobRecord) -> list[SegmentResult]:
    return studio.jobs.segment_results(TENANT, job.id)


def key_of(job: JobRecord, result: SegmentResult) -> str:
    return keys.segment(TENANT, job.id, result.index, result.fence)


def wav(studio: Studio, job: JobRecord) -> ArtifactRecord:
    return next(each for each in studio.record(job).artifacts if each.type == "wav")


def damage(studio: Studio, key: str) -> None:
    data = bytearray(studio.artifacts.get(key))
    data[-1] ^= 1
    studio.artifacts.delete(key)
    studio.artifacts.put(key, bytes(data))


def test_damaged_and_lost_segments_of_a_finished_job_are_spoken_again_as_the_same_takes(
    studio: Studio, control: JobControl
) -> None:
    job = studio.submit()
    studio.drain()
    control.edit(TENANT, job.id, {1: SegmentEdit(text="This take is another one.")})
    studio.drain()
    before, spoken = wav(studio, job), results(studio, job)
    damage(studio, key_of(job, spoken[1]))
    studio.artifacts.delete(key_of(job, spoken[2]))

    control.assemble(TENANT, job.id, lambda spec: spec, None)
    studio.drain()

    record, again = studio.record(job), results(studio, job)
    assert record.state is JobState.SUCCEEDED, record.error
    assert wav(studio, job).sha256 == before.sha256
    assert [each.fence != was.fence for each, was in zip(again, spoken, strict=True)][:4] == [False, True, True, False]
    assert [each.take for each in again] == [each.take for each in spoken]
    said = [(each.code, each.segment, each.detail) for each in record.warnings if each.code == "segment_damaged"]
    assert said == [
        ("segment_damaged", 1, "seg_000001 is damaged in the store; it was spoken again"),
        ("segment_damaged", 2, "seg_000002 is not in the store any more; it was spoken again"),
    ]
    assert studio.jobs.audit_counters() == ()


def test_what_is_damaged_before_the_first_assembly_holds_up_nothing(studio: Studio) -> None:
    job = studio.submit()
    studio.run_until(CPU_QUEUE)
    studio.run_one(CPU_QUEUE)
    while studio.jobs.ready_counts()[GPU_QUEUE]:
        studio.run_one(GPU_QUEUE)
    damage(studio, key_of(job, results(studio, job)[0]))

    studio.drain()

    assert studio.record(job).state is JobState.SUCCEEDED
    assert studio.jobs.audit_counters() == ()


def test_a_store_that_keeps_nothing_fails_the_job_after_a_few_rounds_and_a_retry_mends_it(
    studio: Studio, control: JobControl
) -> None:
    losing = FailingStore(studio.artifacts)
    losing.after_put = lambda key: studio.artifacts.delete(key) if "segments/" in key else None
    job = studio.submit("One sentence only.")
    studio.with_artifacts(losing).drain()

    record = studio.record(job)
    assert record.error is not None
    assert (record.state, record.error.code) == (JobState.FAILED, "segment_damaged")
    assert record.error.detail.startswith("seg_000000 is not in the store any more")
    assert sum(each.code == "segment_damaged" for each in record.warnings) == MOST_ROUNDS

    control.retry(TENANT, job.id)
    studio.drain()

    assert studio.record(job).state is JobState.SUCCEEDED
    assert studio.jobs.audit_counters() == ()


def test_a_lost_plan_is_said_clearly(studio: Studio, control: JobControl) -> None:
    job = studio.submit("One sentence only.")
    studio.drain()
    studio.artifacts.delete(studio.record(job).plan_key or "")
    damage(studio, key_of(job, results(studio, job)[0]))

    control.assemble(TENANT, job.id, lambda spec: spec, None)
    studio.with_artifacts(FailingStore(studio.artifacts)).drain()

    record = studio.record(job)
    assert record.error is not None
    assert (record.error.code, record.error.detail) == ("internal", "the job's plan is not in the store any more")
