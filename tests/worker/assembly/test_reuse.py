"""After an edit, the files of chapters that did not change are copied: they are not read, not encoded, the same."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import redis

from reading.plan.plan import Chapter
from rhapsode.contract.jobs.output import (
    AudioFormat,
    Files,
    Loudness,
    LoudnessScope,
    Output,
    OutputFormat,
    Tags,
    Timestamps,
)
from storage.audio.description import Description
from storage.job_store.control import JobControl
from storage.job_store.plan_cache import PlanCache
from storage.jobs.chapter_files import as_artifact, decode_chapter_files
from storage.jobs.record import JobRecord
from storage.jobs.work_queues import CPU_QUEUE
from storage.narration.cast import SpeakerVoice
from storage.objects import keys
from storage.objects.s3_store import S3ArtifactStore
from storage.segments.edits import SegmentEdit
from storage.segments.results import SegmentResult
from tests.worker.assembly.studio import Book, artifact, assemble, commit_segment, content, submit_book, voice_like
from tests.worker.studio import SPEC, TENANT, Studio
from worker.assembly.audio import chapter_files
from worker.assembly.earlier import earlier_assembly
from worker.assembly.segment_reader import SegmentFetcher
from worker.speech.audio.segment_audio import SegmentAudio

MP3 = OutputFormat(type=AudioFormat.MP3, files=Files.CHAPTERS)
WAV = OutputFormat(type=AudioFormat.WAV, files=Files.CHAPTERS)
WHOLE = OutputFormat(type=AudioFormat.FLAC)
BY_CHAPTER = Loudness(target_lufs=-24, scope=LoudnessScope.CHAPTER)
BOOK = Book(
    [voice_like(0.7 + 0.13 * number, 0.1 + 0.05 * number, number) for number in range(6)],
    (0.3, 1.1, 0.9, 0.3, 0.2, 0.0),
    tuple(Chapter(f"Part {number}", 2 * number) for number in range(3)),
    title="Moby",
)
EDITED = replace(BOOK, pcm=[*BOOK.pcm[:2], voice_like(1.37, 0.2, 9), *BOOK.pcm[3:]])
"""Its third segment is longer by no whole number of frames: all behind it is heard later."""


class Work:
    """What assemblies have done: titles of files encoded, indices of segments read."""

    def __init__(self) -> None:
        self.encoded: list[str] = []
        self.read: list[int] = []

    def forget(self) -> None:
        self.encoded.clear()
        self.read.clear()


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    done = Work()
    made, read = chapter_files.audio_file, SegmentFetcher.read

    def counted(
        form: OutputFormat, rate_hz: int, num_samples: int, description: Description, blocks: Iterable[bytes]
    ) -> Iterator[bytes]:
        done.encoded.append(description.tags.title)
        return made(form, rate_hz, num_samples, description, blocks)

    def noted(reader: SegmentFetcher, result: SegmentResult) -> SegmentAudio:
        done.read.append(result.index)
        return read(reader, result)

    monkeypatch.setattr(chapter_files, "audio_file", counted)
    monkeypatch.setattr(SegmentFetcher, "read", noted)
    return done


def edit(studio: Studio, client: redis.Redis, record: JobRecord) -> JobRecord:
    """The third segment is another one, and the job assembled again."""
    JobControl(client).edit(TENANT, record.id, {2: SegmentEdit(text="Something else.")})
    commit_segment(studio, EDITED)
    studio.run_one(CPU_QUEUE)
    return studio.record(record)


def again(studio: Studio, client: redis.Redis, record: JobRecord, output: Output) -> JobRecord:
    JobControl(client).assemble(TENANT, record.id, lambda spec: spec.asking(output=output), None)
    studio.run_one(CPU_QUEUE)
    return studio.record(record)


def as_before(studio: Studio, record: JobRecord) -> None:
    """The job's manifest as releases wrote it that made every file again."""
    key = artifact(record, "manifest.json").key
    manifest = json.loads(studio.artifacts.get(key))
    del manifest["made"]
    studio.artifacts.delete(key)
    studio.artifacts.put(key, json.dumps(manifest).encode())


def files_of(studio: Studio, record: JobRecord, form: str) -> list[bytes]:
    listing = artifact(record, f"chapters-{form}.json")
    found = decode_chapter_files(studio.artifacts.get(listing.key))
    return [studio.artifacts.get(as_artifact(file, listing).key) for file in found]


@pytest.mark.parametrize(
    "output",
    [
        Output(formats=(MP3, WAV)),
        Output(formats=(MP3,), sample_rate=44_100, room_tone_db=-70, head_s=0.6, tail_s=1.5, loudness=BY_CHAPTER),
    ],
    ids=["as spoken", "as a publisher wants it"],
)
def test_an_edit_makes_the_files_of_its_chapter_alone(
    studio: Studio, redis_client: redis.Redis, work: Work, output: Output
) -> None:
    record = assemble(studio, BOOK, output)
    before = {form.type: files_of(studio, record, form.type) for form in output.formats}
    work.forget()

    now = edit(studio, redis_client, record)

    assert sorted(work.encoded) == ["Part 1"] * len(output.formats)
    assert set(work.read) == {2, 3}
    for form, files in before.items():
        first, second, third = files_of(studio, now, form)
        assert (first, third) == (files[0], files[2])
        assert second != files[1]
    folder = artifact(now, "manifest.json").key.rpartition("/")[0]
    stored = studio.artifacts.list(keys.all_artifacts_prefix(TENANT, record.id))
    assert {entry.key.rpartition("/")[0] for entry in stored} == {folder}
    made = {form: files_of(studio, now, form) for form in before}
    told, codes = _told(studio, now), content(studio, now, "codes.safetensors")
    as_before(studio, now)
    fresh = again(studio, redis_client, now, output)
    assert {form: files_of(studio, fresh, form) for form in before} == made
    assert (_told(studio, fresh), content(studio, fresh, "codes.safetensors")) == (told, codes)


def test_an_edit_of_an_edited_job_does_too(studio: Studio, redis_client: redis.Redis, work: Work) -> None:
    record = edit(studio, redis_client, assemble(studio, BOOK, Output(formats=(MP3,))))
    work.forget()

    JobControl(redis_client).edit(TENANT, record.id, {2: SegmentEdit(text="As before.")})
    commit_segment(studio, BOOK)
    studio.run_one(CPU_QUEUE)

    assert (work.encoded, work.read) == (["Part 1"], [2, 3])
    assert files_of(studio, studio.record(record), "mp3") == files_of(
        studio, assemble(studio, BOOK, Output(formats=(MP3,))), "mp3"
    )


def test_what_needs_every_sample_reads_them_and_encodes_no_chapter_twice(
    studio: Studio, redis_client: redis.Redis, work: Work
) -> None:
    for output in (Output(formats=(MP3, WHOLE)), Output(formats=(MP3,), timestamps=Timestamps.WORD)):
        record = assemble(studio, BOOK, output)
        work.forget()

        now = edit(studio, redis_client, record)

        assert (work.encoded, work.read) == (["Part 1"], [*range(6)])
        fresh = assemble(studio, EDITED, output)
        assert files_of(studio, now, "mp3") == files_of(studio, fresh, "mp3")


def test_a_gain_of_the_whole_that_changes_encodes_all(studio: Studio, redis_client: redis.Redis, work: Work) -> None:
    record = assemble(studio, BOOK, Output(formats=(MP3,), loudness=Loudness(target_lufs=-24)))
    work.forget()

    edit(studio, redis_client, record)

    assert work.encoded == ["Part 0", "Part 1", "Part 2"]


@pytest.mark.parametrize(
    "change", [{"tags": Tags(title="Whale")}, {"speed": 1.5}, {"room_tone_db": -70.0}, {"sample_rate": 16_000}]
)
def test_another_output_encodes_all(
    studio: Studio, redis_client: redis.Redis, work: Work, change: dict[str, object]
) -> None:
    output = Output(formats=(MP3,))
    record = assemble(studio, BOOK, output)
    work.forget()

    again(studio, redis_client, record, output.model_copy(update=change))

    assert len(work.encoded) == 3


def test_the_same_speech_again_is_read_whole(studio: Studio, redis_client: redis.Redis, work: Work) -> None:
    """So it finds what the store has lost of it."""
    record = assemble(studio, BOOK, Output(formats=(MP3,)))
    work.forget()

    again(studio, redis_client, record, Output(formats=(MP3,)))

    assert (work.encoded, work.read) == ([], [*range(6)])


@pytest.mark.parametrize("lost", ["manifest.json", "codes.safetensors", "chapters-mp3.json", "chapter-0003.mp3"])
def test_what_the_store_has_lost_is_made_again(
    studio: Studio, redis_client: redis.Redis, work: Work, lost: str
) -> None:
    record = assemble(studio, BOOK, Output(formats=(MP3,)))
    folder = artifact(record, "manifest.json").key.rpartition("/")[0]
    studio.artifacts.delete(f"{folder}/{lost}")
    work.forget()

    now = edit(studio, redis_client, record)

    assert "Part 2" in work.encoded
    assert files_of(studio, now, "mp3") == files_of(studio, assemble(studio, EDITED, Output(formats=(MP3,))), "mp3")


def test_a_job_of_a_release_before_is_made_again(studio: Studio, redis_client: redis.Redis, work: Work) -> None:
    record = assemble(studio, BOOK, Output(formats=(MP3,)))
    as_before(studio, record)
    work.forget()

    edit(studio, redis_client, record)

    assert work.encoded == ["Part 0", "Part 1", "Part 2"]


def test_the_manifest_keeps_the_levels_of_speakers(studio: Studio) -> None:
    book = replace(BOOK, speakers=("", "Mary") * 3)
    spec = SPEC.asking(output=Output())
    record = submit_book(studio, book, Output(), replace(spec, cast=(SpeakerVoice("Mary", "ada"),)))
    studio.run_one(CPU_QUEUE)
    record = studio.record(record)

    earlier = earlier_assembly(record.artifacts, studio.artifacts)

    assert [each.name for each in earlier.speakers] == ["", "Mary"]
    assert all(each.loudness_lufs is not None for each in earlier.speakers)


def test_files_are_copied_within_a_bucket(
    studio: Studio, s3_store: S3ArtifactStore, redis_client: redis.Redis, work: Work
) -> None:
    worker = replace(studio.services.worker, artifacts=s3_store, plans=PlanCache(s3_store))
    on_s3 = Studio(replace(studio.services, worker=worker), studio.jobs, s3_store)
    record = assemble(on_s3, BOOK, Output(formats=(WAV,)))
    before = files_of(on_s3, record, "wav")
    work.forget()

    after = files_of(on_s3, edit(on_s3, redis_client, record), "wav")

    assert work.encoded == ["Part 1"]
    assert [np.array_equal(*pair) for pair in zip(before, after, strict=True)] == [True, False, True]


def _told(studio: Studio, record: JobRecord) -> dict[str, Any]:
    """The manifest without what is told of files."""
    return {**json.loads(content(studio, record, "manifest.json")), "artifacts": []}
