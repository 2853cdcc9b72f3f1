"""Who listens to a job is told of every whole attempt at its first segment, and of nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from rhapsode.contract.jobs.narration import SegmentLengths
from rhapsode.contract.jobs.quality import OnExhausted, Quality
from rhapsode.contract.jobs.states import JobState
from storage.jobs.record import JobRecord
from storage.narration.spec import NarrationSpec
from tests.worker.faulty_engine import FaultyEngine
from tests.worker.speech.quality.defects import SPOILS
from tests.worker.studio import SPEC, TENANT, Studio
from worker.engine.fake import fake_speech
from worker.engine.interface import Pcm, SpeechChunk
from worker.speech.openings import Opening

TEXT = "The rain falls softly on the quiet garden today. Nobody walks there anymore because it is late."
WHOLE = SPEC.asking(segmentation=SegmentLengths(target_chars=100, max_chars=200))


@dataclass
class Heard:
    attempts: list[Opening] = field(default_factory=list[Opening])
    chunks: list[Pcm] = field(default_factory=list[Pcm])
    ends: list[bool] = field(default_factory=list[bool])

    def begun(self, opening: Opening) -> None:
        self.attempts.append(opening)
        self.chunks.clear()

    def made(self, chunk: SpeechChunk) -> None:
        self.chunks.append(chunk.pcm)

    def over(self, *, is_whole: bool) -> None:
        self.ends.append(is_whole)


def hear(studio: Studio, text: str, spec: NarrationSpec) -> tuple[Heard, JobRecord]:
    heard = Heard()
    job = studio.submit(text, spec)
    studio.services.openings.listen(job.id, heard)
    studio.drain()
    return heard, studio.record(job)


def test_the_first_segment_is_told_as_the_engine_says_it(studio: Studio) -> None:
    heard, job = hear(studio, TEXT, SPEC)

    first = studio.jobs.segment_results(TENANT, job.id)[0]
    opening = heard.attempts[0]
    assert (len(heard.attempts), heard.ends) == (1, [True])
    assert (opening.fence, opening.attempt, opening.voice) == (first.fence, 1, "ada")
    assert job.segments.total > 1
    np.testing.assert_array_equal(np.concatenate(heard.chunks), fake_speech(opening.text, first.seed)[0])


def test_another_attempt_is_another_opening_and_one_in_two_parts_is_none(studio: Studio) -> None:
    faulty = replace(
        studio, services=replace(studio.services, engine=FaultyEngine({"not_a_number": SPOILS["not_a_number"]}, 1.0))
    )

    heard, job = hear(faulty, TEXT[:40], WHOLE.asking(quality=Quality(max_attempts=3)))

    assert job.state is JobState.FAILED
    assert [opening.attempt for opening in heard.attempts] == [1, 2]


def test_a_job_that_wants_none_but_what_passes_is_not_told(studio: Studio) -> None:
    heard, job = hear(studio, TEXT, WHOLE.asking(quality=Quality(on_exhausted=OnExhausted.FAIL)))

    assert job.state is JobState.SUCCEEDED, job.error
    assert heard.attempts == []
