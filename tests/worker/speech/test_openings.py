"""Openings reach those who listen, in order, and cost nothing where nobody does."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import numpy as np
import pytest

from storage.ids import JobId
from worker.engine.errors import EngineDied
from worker.engine.interface import OnAudio, SpeechChunk
from worker.speech.openings import Opening, Openings

JOB, OTHER = JobId("job_1"), JobId("job_2")


def opening(attempt: int = 1) -> Opening:
    return Opening(3, attempt, "Once upon a time.", "ada", "english")


def chunk(number: int) -> SpeechChunk:
    return SpeechChunk(np.zeros(8, np.float32), np.full((1, 2), number, np.int16))


@dataclass
class Told:
    said: list[object] = field(default_factory=list[object])

    def begun(self, opening: Opening) -> None:
        self.said.append(opening.attempt)

    def made(self, chunk: SpeechChunk) -> None:
        self.said.append(f"frame {chunk.frames[0, 0]}")

    def over(self, *, is_whole: bool) -> None:
        self.said.append(is_whole)


def make(on_audio: OnAudio | None, *numbers: int) -> None:
    assert on_audio is not None
    for number in numbers:
        on_audio(chunk(number))


def test_who_listens_is_told_of_every_attempt() -> None:
    openings, told, other = Openings(), Told(), Told()
    openings.listen(JOB, told)
    openings.listen(OTHER, other)

    for attempt in (1, 2):
        with openings.speaking(JOB, opening(attempt=attempt)) as on_audio:
            make(on_audio, 1, 2)

    assert told.said == [1, "frame 1", "frame 2", True, 2, "frame 1", "frame 2", True]
    assert other.said == []


def test_who_comes_later_is_told_from_the_beginning_and_who_leaves_no_more() -> None:
    openings, early, late = Openings(), Told(), Told()
    openings.listen(JOB, early)

    with openings.speaking(JOB, opening()) as on_audio:
        make(on_audio, 1)
        openings.listen(JOB, late)
        openings.leave(JOB, early)
        make(on_audio, 2)
    openings.leave(JOB, late)

    assert early.said == [1, "frame 1"]
    assert late.said == [1, "frame 1", "frame 2", True]


def test_an_attempt_that_fails_is_not_whole() -> None:
    openings, told = Openings(), Told()
    openings.listen(JOB, told)

    with pytest.raises(EngineDied), openings.speaking(JOB, opening()):
        raise EngineDied("as engines do")

    assert told.said == [1, False]


def test_beside_others_chunks_are_made_only_where_somebody_listens() -> None:
    openings = Openings()
    openings.listen(OTHER, Told())

    with (
        openings.speaking(JobId("job_3"), None) as other_job,
        openings.speaking(JOB, opening()) as unheard,
        openings.speaking(OTHER, opening()) as heard,
    ):
        assert (other_job, unheard) == (None, None)
        assert heard is not None
    with openings.speaking(JOB, None), openings.speaking(JOB, opening()) as alone:
        assert alone is not None


def test_a_lease_that_was_taken_over_here_is_another_opening() -> None:
    openings, told = Openings(), Told()
    openings.listen(JOB, told)

    with openings.speaking(JOB, opening(attempt=1)) as first:
        with openings.speaking(JOB, opening(attempt=2)) as second:
            make(cast(OnAudio, first), 1)
            make(second, 2)
        assert told.said == [1, 2, "frame 2", True]
    assert told.said[-1] is True
