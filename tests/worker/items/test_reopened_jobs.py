"""Jobs that go on after their end: edited, spoken again, retried, assembled anew. On the fake engine, byte by byte."""

from __future__ import annotations

import hashlib
import logging

import pytest
import redis

from reading.spelling.rules import PronunciationRule
from rhapsode.contract.jobs.input import Normalization
from rhapsode.contract.jobs.output import Output, SubtitleFormat, Timestamps
from rhapsode.contract.jobs.states import JobState
from storage.errors import SegmentBusy, StateConflict
from storage.ids import JobId, TenantId
from storage.job_store.control import JobControl
from storage.job_store.segment_reads import SegmentReader
from storage.jobs.record import JobError, JobRecord
from storage.jobs.work_items import WorkerIdentity
from storage.jobs.work_queues import CPU_QUEUE
from storage.objects import keys
from storage.runtime.config.settings import StorageSettings
from storage.segments.edits import SegmentEdit
from storage.segments.file import decode_segment
from storage.segments.results import LEFT_OUT, SegmentResult
from tests.worker.studio import GPU_QUEUE, SPEC, TENANT, Studio


@pytest.fixture
def reader(redis_client: redis.Redis, storage_settings: StorageSettings) -> SegmentReader:
    return SegmentReader(redis_client, storage_settings.key_prefix)


def finished(studio: Studio, *sentences: str) -> JobRecord:
    job = studio.submit("\n\n".join(sentences))
    record = studio.drained(job)
    assert record.state is JobState.SUCCEEDED, record.error
    return record


def wav_of(studio: Studio, job: JobRecord) -> bytes:
    artifact = next(each for each in studio.record(job).artifacts if each.type == "wav")
    data = studio.artifacts.get(artifact.key)
    assert hashlib.sha256(data).hexdigest() == artifact.sha256
    return data


def spoken(studio: Studio, job: JobRecord) -> dict[int, int]:
    return {result.index: result.fence for result in studio.jobs.segment_results(TENANT, job.id)}


def texts_spoken(studio: Studio, job: JobRecord) -> list[str]:
    """Their digests, as the segments in place bear them."""
    placed = [keys.segment(TENANT, job.id, index, fence) for index, fence in sorted(spoken(studio, job).items())]
    return [decode_segment(studio.artifacts.get(key)).header.text_sha256 for key in placed]


SENTENCES = ("The first one is here.", "The second one follows.", "The third one ends it.")


def test_an_edit_speaks_one_segment_anew_and_assembles_what_a_fresh_job_would(
    studio: Studio, control: JobControl
) -> None:
    job = finished(studio, *SENTENCES)
    before, edited = spoken(studio, job), "Another one stands in its place."

    control.edit(TENANT, job.id, {1: SegmentEdit(text=edited, seed=4711)})
    assert studio.record(job).state is JobState.PENDING
    studio.drain()

    after = spoken(studio, job)
    assert {index for index in after if after[index] != before[index]} == {1}
    ended = studio.record(job)
    assert (ended.state, ended.run, ended.segments.done) == (JobState.SUCCEEDED, 1, 3)
    assert len(wav_of(studio, job)) != 0
    assert studio.jobs.audit_counters() == ()


def test_a_sentence_that_is_edited_is_read_as_the_job_s_text_was(studio: Studio, control: JobControl) -> None:
    spec = SPEC.asking(
        language="english", normalization=Normalization.BASIC, output=Output(subtitles=(SubtitleFormat.SRT,))
    )
    job = studio.submit("The FBI came at 7. It was late.\n\nNobody slept.", spec)
    fresh = studio.submit("The FBI came at 7. It was 9 pm.\n\nNobody slept.", spec)
    studio.drain()
    plan_key = studio.record(job).plan_key
    assert plan_key is not None
    number = len(studio.services.worker.plans.get(plan_key).segments[0].sentences) - 1

    control.edit(TENANT, job.id, {1 - number: SegmentEdit(sentences=((number, "It was 9 pm."),))})
    studio.drain()

    assert texts_spoken(studio, job) == texts_spoken(studio, fresh)
    srt = next(each for each in studio.record(job).artifacts if each.type == "srt")
    assert b"It was 9 pm." in studio.artifacts.get(srt.key)


def test_a_word_is_said_otherwise_and_shown_as_before(studio: Studio, control: JobControl) -> None:
    spec = SPEC.asking(
        language="english", normalization=Normalization.BASIC, output=Output(subtitles=(SubtitleFormat.SRT,))
    )
    job = studio.submit("The FBI came to Skye at 7.\n\nNobody slept.", spec)
    fresh = studio.submit("The FBI came to sky at 7.\n\nNobody slept.", spec)
    studio.drain()

    control.edit(TENANT, job.id, {0: SegmentEdit(rules=(PronunciationRule("Skye", "sky"),))})
    studio.drain()

    assert texts_spoken(studio, job) == texts_spoken(studio, fresh)
    srt = next(each for each in studio.record(job).artifacts if each.type == "srt")
    assert b"The FBI came to Skye at 7." in studio.artifacts.get(srt.key)


def test_selecting_the_take_of_before_gives_the_bytes_of_before(studio: Studio, control: JobControl) -> None:
    job = finished(studio, *SENTENCES)
    first = wav_of(studio, job)
    control.regenerate(TENANT, job.id, 2, None, None)
    studio.drain()
    second = wav_of(studio, job)
    before = spoken(studio, job)

    control.select_takes(TENANT, job.id, {2: 1})
    assert studio.jobs.ready_counts()[GPU_QUEUE] == 0
    studio.drain()

    assert first != second
    assert wav_of(studio, job) == first
    assert {index for index, fence in spoken(studio, job).items() if fence != before[index]} == {2}


def test_takes_keep_their_audio_their_edit_and_their_number(
    studio: Studio, control: JobControl, reader: SegmentReader
) -> None:
    job = finished(studio, *SENTENCES)
    control.edit(TENANT, job.id, {0: SegmentEdit(text="Said otherwise.")})
    studio.drain()
    control.regenerate(TENANT, job.id, 0, None, None)
    studio.drain()

    takes = reader.takes(job.id, 0)

    assert [(take.number, take.edit.text, take.is_selected) for take in takes] == [
        (1, None, False),
        (2, "Said otherwise.", False),
        (3, "Said otherwise.", True),
    ]
    assert len({take.result.seed for take in takes}) == 3
    assert [take.result.take for take in takes] == [1, 2, 3]
    for take in takes:
        assert studio.artifacts.get(keys.segment(TENANT, job.id, 0, take.result.fence))


def test_a_failed_job_is_retried_for_what_it_lacks_and_may_be_edited_first(
    studio: Studio, control: JobControl, reader: SegmentReader
) -> None:
    job = studio.submit("\n\n".join(SENTENCES))
    studio.run_until(GPU_QUEUE)
    studio.run_one(GPU_QUEUE)
    item = studio.jobs.claim(GPU_QUEUE, WorkerIdentity("by hand", "1"), 60).item
    assert item is not None
    studio.jobs.fail(item.lease, JobError("segment_quality", "it does not stop", 1))
    done = spoken(studio, job)
    assert (studio.record(job).state, len(done)) == (JobState.FAILED, 1)

    control.edit(TENANT, job.id, {1: SegmentEdit(text="Now it can be said.")})
    assert studio.record(job).state is JobState.FAILED
    assert reader.states(job.id).failed == frozenset()
    control.retry(TENANT, job.id)
    control.retry(TENANT, job.id)
    ended = studio.drained(job)

    assert (ended.state, ended.error, ended.segments.done) == (JobState.SUCCEEDED, None, 3)
    assert done.items() <= spoken(studio, job).items()
    assert studio.jobs.audit_counters() == ()


def test_a_cancelled_job_keeps_its_segments_and_goes_on_where_it_was(studio: Studio, control: JobControl) -> None:
    job = studio.submit("\n\n".join(SENTENCES))
    studio.run_until(GPU_QUEUE)
    lease = studio.jobs.claim(GPU_QUEUE, WorkerIdentity("by hand", "1"), 60).item
    assert lease is not None
    studio.jobs.cancel(TENANT, job.id)
    studio.jobs.extend([lease.lease], 60)
    assert studio.record(job).state is JobState.CANCELLED

    control.retry(TENANT, job.id)
    studio.drain()

    fresh = finished(studio, *SENTENCES)
    assert wav_of(studio, job) == wav_of(studio, fresh)


def test_an_edit_during_the_assembly_gives_that_assembly_up(studio: Studio, control: JobControl) -> None:
    job = finished(studio, *SENTENCES)
    control.assemble(TENANT, job.id, lambda spec: spec, None)
    under_way = studio.jobs.claim(CPU_QUEUE, WorkerIdentity("by hand", "1"), 60).item
    assert under_way is not None
    assert under_way.lease.item == "assemble"

    control.edit(TENANT, job.id, {0: SegmentEdit(text="In the middle of it.")})

    assert [status.value for status in studio.jobs.extend([under_way.lease], 60)] == ["lost"]
    assert studio.jobs.ready_counts() == {GPU_QUEUE: 1}
    studio.drain()
    assert studio.record(job).state is JobState.SUCCEEDED
    assert studio.jobs.audit_counters() == ()


def test_an_edit_that_an_assembly_overlooks_is_no_error(
    studio: Studio, control: JobControl, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It comes after the claim, and the assembly misses the segment that is to be spoken again."""
    job = finished(studio, *SENTENCES)
    control.assemble(TENANT, job.id, lambda spec: spec, None)
    read_results = studio.jobs.segment_results

    def edited_before(tenant: TenantId, job_id: JobId) -> list[SegmentResult]:
        monkeypatch.undo()
        control.edit(TENANT, job.id, {0: SegmentEdit(text="In the middle of it.")})
        return read_results(tenant, job_id)

    monkeypatch.setattr(studio.jobs, "segment_results", edited_before)
    with caplog.at_level(logging.INFO):
        studio.drain()

    assert studio.record(job).state is JobState.SUCCEEDED
    assert "verdict refused" in caplog.messages
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_a_passage_is_left_out_and_comes_back(studio: Studio, control: JobControl) -> None:
    output = Output(subtitles=(SubtitleFormat.SRT,), timestamps=Timestamps.WORD)
    job = studio.submit("\n\n".join(SENTENCES), SPEC.asking(output=output))
    studio.drain()
    before, whole = wav_of(studio, job), spoken(studio, job)

    control.edit(TENANT, job.id, {1: SegmentEdit(sentences=((0, ""),))})
    record = studio.drained(job)

    left_out = studio.jobs.segment_results(TENANT, job.id)[1]
    subtitles = next(each for each in record.artifacts if each.type == "srt")
    shown = studio.artifacts.get(subtitles.key).decode()
    assert (record.state, left_out.finish_reason, left_out.flags) == (JobState.SUCCEEDED, LEFT_OUT, ())
    assert [sentence in shown for sentence in SENTENCES] == [True, False, True]
    assert len(wav_of(studio, job)) < len(before)
    control.select_takes(TENANT, job.id, {1: 1})
    studio.drain()
    assert spoken(studio, job) == whole
    assert wav_of(studio, job) == before


def test_what_is_being_spoken_cannot_be_edited(studio: Studio, control: JobControl) -> None:
    job = studio.submit("\n\n".join(SENTENCES))
    studio.run_until(GPU_QUEUE)
    item = studio.jobs.claim(GPU_QUEUE, WorkerIdentity("by hand", "1"), 60).item
    assert item is not None

    with pytest.raises(SegmentBusy):
        control.edit(TENANT, job.id, {int(item.lease.item): SegmentEdit(text="Too late.")})


def test_old_artifacts_are_there_until_the_new_ones_are_and_gone_after(studio: Studio, control: JobControl) -> None:
    job = finished(studio, *SENTENCES)
    old = {artifact.key for artifact in job.artifacts}

    control.edit(TENANT, job.id, {0: SegmentEdit(text="Another beginning.")})
    assert {artifact.key for artifact in studio.record(job).artifacts} == old
    studio.drain()

    new = {artifact.key for artifact in studio.record(job).artifacts}
    there = {entry.key for entry in studio.artifacts.list(f"{keys.job_prefix(TENANT, job.id)}artifacts/")}
    assert there == new
    assert not new & old


def test_a_job_that_succeeded_has_nothing_to_retry(studio: Studio, control: JobControl) -> None:
    job = finished(studio, SENTENCES[0])

    with pytest.raises(StateConflict, match="succeeded"):
        control.retry(TENANT, job.id)
