"""Jobs whose segments are made by hand, so that every sample of the result is known before it is assembled."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from reading.plan.plan import Chapter, Plan, PlanSegment, encode_plan
from reading.script.script import Mark
from rhapsode.contract.jobs.output import Output
from rhapsode.contract.jobs.states import JobState, Priority
from storage.ids import JobId, new_job_id
from storage.jobs.record import ArtifactRecord, JobRecord
from storage.jobs.submissions import Submission
from storage.jobs.work_items import PlanResult
from storage.jobs.work_queues import CPU_QUEUE
from storage.narration.spec import NarrationSpec
from storage.objects import keys
from storage.segments.file import SegmentHeader
from storage.segments.results import SegmentReport
from tests.worker.studio import GPU_QUEUE, SPEC, TENANT, Studio
from worker.speech.audio.loudness import LoudnessMeter, loudness_of
from worker.speech.audio.samples import to_samples
from worker.speech.audio.segment_audio import SegmentAudio, encode_segment
from worker.speech.audio.speech_edges import finish_edges

RATE_HZ = 24_000


@dataclass(frozen=True)
class Book:
    """pcm: float32 of full scale 1 for each segment, edges unfinished. pauses_s: after each. pitches_hz: measured."""

    pcm: Sequence[NDArray[np.float32]]
    pauses_s: Sequence[float]
    chapters: tuple[Chapter, ...] = ()
    title: str = ""
    author: str = ""
    publisher: str = ""
    date: str = ""
    cover: bytes | None = None
    texts: Sequence[str] = field(default_factory=tuple)
    speakers: Sequence[str] = field(default_factory=tuple)
    speeds: Sequence[float] = field(default_factory=tuple)
    gains_db: Sequence[float] = field(default_factory=tuple)
    marks: tuple[Mark, ...] = ()
    pitches_hz: Sequence[float] = field(default_factory=tuple)


def voice_like(seconds: float, level: float, seed: int, rate_hz: int = RATE_HZ) -> NDArray[np.float32]:
    """Something between a vowel and a murmur: harmonics of a moving pitch under a syllable's envelope."""
    rng = np.random.default_rng(seed)
    time_s = np.arange(round(seconds * rate_hz)) / rate_hz
    phase = 2 * np.pi * np.cumsum(120 + 30 * np.sin(2 * np.pi * 0.7 * time_s + seed)) / rate_hz
    sound = sum(np.sin(k * phase + rng.uniform(0, 6)) / k for k in range(1, 12))
    envelope = 0.55 + 0.45 * np.sin(2 * np.pi * 4 * time_s + rng.uniform(0, 6))
    return (level * envelope * sound / 3).astype(np.float32)


def submit_book(
    studio: Studio, book: Book, output: Output, spec: NarrationSpec = SPEC, job: JobId | None = None
) -> JobRecord:
    """A job whose segments are all done and which waits to be assembled. job: its id, if not a new one."""
    job = job or new_job_id()
    key = keys.input_text(TENANT, job)
    studio.artifacts.put(key, b"x")
    spec = spec.asking(output=output)
    submitted = studio.jobs.submit(Submission(job, TENANT, spec, Priority.NORMAL, key, 1, 1000, retention_s=3600))
    _commit_plan(studio, submitted.job, book)
    for _ in book.pcm:
        commit_segment(studio, book)
    return studio.record(submitted.job)


def assemble(studio: Studio, book: Book, output: Output) -> JobRecord:
    """The job once its assembly has run."""
    job = submit_book(studio, book, output)
    studio.run_one(CPU_QUEUE)
    record = studio.record(job)
    assert record.state is JobState.SUCCEEDED, record.error
    return record


def artifact(record: JobRecord, name: str) -> ArtifactRecord:
    return next(each for each in record.artifacts if each.name == name)


def content(studio: Studio, record: JobRecord, name: str) -> bytes:
    return studio.artifacts.get(artifact(record, name).key)


def lufs(samples: NDArray[np.float64], rate_hz: int) -> float:
    """Integrated loudness of the whole."""
    meter = LoudnessMeter(rate_hz)
    meter.add(samples)
    return meter.integrated_lufs()


def _commit_plan(studio: Studio, record: JobRecord, book: Book) -> None:
    claimed = studio.jobs.claim(CPU_QUEUE, studio.services.worker.identity, 60).item
    assert claimed is not None
    cover_key = None
    if book.cover is not None:
        cover_key = f"{keys.job_prefix(TENANT, record.id)}cover"
        studio.artifacts.put(cover_key, book.cover)
    starts = [chapter.first_segment for chapter in book.chapters]
    segments = tuple(
        PlanSegment(
            index,
            index,
            index + 1,
            book.texts[index] if book.texts else f"Segment {index}.",
            pause_s,
            speaker=book.speakers[index] if book.speakers else "",
            speed=book.speeds[index] if book.speeds else 1.0,
            gain_db=book.gains_db[index] if book.gains_db else 0.0,
            chapter=max(0, sum(start <= index for start in starts) - 1),
        )
        for index, pause_s in enumerate(book.pauses_s)
    )
    said = {"title": book.title, "author": book.author, "publisher": book.publisher, "date": book.date}
    plan = Plan(segments, book.chapters, language="en", cover_key=cover_key, marks=book.marks, **said)
    key = keys.plan(claimed.lease)
    studio.artifacts.put(key, encode_plan(plan))
    studio.jobs.commit_plan(claimed.lease, PlanResult(key, len(segments), 1000))


def commit_segment(studio: Studio, book: Book) -> None:
    claimed = studio.jobs.claim(GPU_QUEUE, studio.services.worker.identity, 60).item
    assert claimed is not None
    index = int(claimed.lease.item)
    finished = finish_edges(book.pcm[index], RATE_HZ)
    samples, loudness = to_samples(finished), loudness_of(finished, RATE_HZ)
    job, fence = claimed.lease.job, claimed.lease.fence
    checks = {"speech_s": 2.0, "pitch_hz": book.pitches_hz[index], "duration_ratio": 1.0} if book.pitches_hz else {}
    header = SegmentHeader(
        job, index, fence, "ab" * 32, 1000 + index, "eos", "fake", "r1", RATE_HZ, "ada", checks=checks
    )
    codes = np.full((3 + index, 16), index, np.int16)
    data = encode_segment(SegmentAudio(header, samples, codes))
    studio.artifacts.put(keys.segment(TENANT, claimed.lease.job, index, claimed.lease.fence), data)
    digest = hashlib.sha256(data).hexdigest()
    report = SegmentReport(len(samples), RATE_HZ, 1, digest, "eos", 1, seed=1000 + index, loudness_lufs=loudness)
    studio.jobs.commit_segment(claimed.lease, report)
