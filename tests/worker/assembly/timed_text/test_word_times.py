"""On speech of the small voice: "The moon came up behind the dark pine trees." by PocketSphinx 5.1.1."""

from __future__ import annotations

import wave
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from reading.plan.plan import PlanSegment
from storage.segments.results import SILENCED, SegmentResult
from storage.segments.timeline import Placed
from worker.assembly.timed_text.kept_times import KeptTimes
from worker.assembly.timed_text.word_times import TimedSegment, WordClock
from worker.speech.alignment.aligner import Method

SAMPLE = Path(__file__).resolve().parents[4] / "worker/small_voice/samples/moon-slt.wav"
TEXT = "The moon came up behind the dark pine trees."
STARTS_S = [0.07, 0.16, 0.45, 0.77, 0.91, 1.36, 1.43, 1.74, 2.34]
RATE_HZ = 24_000


@pytest.fixture(scope="module")
def samples() -> NDArray[np.int16]:
    with wave.open(str(SAMPLE)) as file:
        return np.frombuffer(file.readframes(file.getnframes()), "<i2")


def heard(
    samples: NDArray[np.int16], planned: PlanSegment, language: str = "english", **result: object
) -> TimedSegment:
    facts = SegmentResult(0, 1, len(samples), "ab" * 32)
    placed = Placed(planned, replace(facts, **result), 2 * RATE_HZ, 0)
    return WordClock(language, RATE_HZ).times(placed, samples)


def starts(timed: TimedSegment) -> list[float]:
    return [round(word.time.start_s, 2) for sentence in timed.sentences for word in sentence.words]


def test_words_are_told_in_the_time_of_the_narration(samples: NDArray[np.int16]) -> None:
    timed = heard(samples, PlanSegment(0, 0, len(TEXT), TEXT, 0.0))

    assert timed.method is Method.ALIGNED
    assert starts(timed) == pytest.approx([2 + start_s for start_s in STARTS_S], abs=0.06)
    (sentence,) = timed.sentences
    assert [word.word.text for word in sentence.words] == TEXT.rstrip(".").split()
    assert sentence.span.start_s == sentence.words[0].time.start_s


def test_a_narration_at_another_speed_has_its_words_in_proportion(samples: NDArray[np.int16]) -> None:
    planned = PlanSegment(0, 0, len(TEXT), TEXT, 0.0)
    usual, half = (
        WordClock("english", RATE_HZ).times(
            Placed(planned, SegmentResult(0, 1, len(samples), "ab" * 32), RATE_HZ, 0, speed), samples
        )
        for speed in (1.0, 0.5)
    )

    assert [start_s - 1 for start_s in starts(half)] == pytest.approx(
        [2 * (start_s - 1) for start_s in starts(usual)], abs=0.02
    )


def test_what_is_kept_of_them_until_the_end_says_the_same(samples: NDArray[np.int16]) -> None:
    said = "The moon came up. ... Behind the 春 dark pine trees."
    planned = PlanSegment(0, 10, 10 + len(said), said, 0.0, breaks=(18, 22))
    kept = KeptTimes(RATE_HZ)
    given: list[TimedSegment] = []
    for hours, flags in ((0, ()), (100, ()), (120, (SILENCED,))):
        result = SegmentResult(0, 1, len(samples), "ab" * 32, flags=flags)
        placed = Placed(planned, result, hours * 3600 * RATE_HZ, 0)
        given.append(WordClock("english", RATE_HZ).times(placed, samples))
        kept.keep(placed, given[-1])

    for one, other in zip(given, kept, strict=True):
        assert one.method == other.method
        assert [each.sentence for each in one.sentences] == [each.sentence for each in other.sentences]
        assert starts(one) == pytest.approx(starts(other), abs=1e-3)
        words = [[word.word for word in each.words] for each in one.sentences]
        assert words == [[word.word for word in each.words] for each in other.sentences]
    assert len(list(kept)) == len(list(kept)) == 3


def test_sentences_of_one_segment_have_their_own_words(samples: NDArray[np.int16]) -> None:
    said = "The moon came up. Behind the dark pine trees."

    timed = heard(samples, PlanSegment(0, 10, 10 + len(said), said, 0.0, breaks=(18,)))

    first, second = timed.sentences
    assert [len(first.words), len(second.words)] == [4, 5]
    assert second.span.start_s == pytest.approx(2 + STARTS_S[4], abs=0.06)
    assert first.span.end_s <= second.span.start_s


def test_what_is_written_lasts_as_what_was_said_for_it(samples: NDArray[np.int16]) -> None:
    planned = PlanSegment(0, 0, 30, TEXT, 0.0, written_otherwise="The moon came up **behind** the dkpt.")

    timed = heard(samples, planned)

    last = timed.sentences[0].words[-1]
    assert last.word.text == "dkpt"
    assert last.time.start_s == pytest.approx(2 + STARTS_S[6], abs=0.06)
    assert last.time.end_s > 2 + STARTS_S[8]


def test_digits_that_a_model_was_given_are_looked_for_as_they_sound(samples: NDArray[np.int16]) -> None:
    """The sample does not say so; the estimate for "nineteen eighty-four" is longer than for four digits."""
    timed = heard(samples, PlanSegment(0, 0, 20, "In 1984 he said so.", 0.0))

    assert timed.method is Method.ESTIMATED
    year = timed.sentences[0].words[1]
    assert year.word.text == "1984"
    assert year.time.end_s - year.time.start_s > 1


def test_another_language_is_estimated_and_a_gap_has_no_words(samples: NDArray[np.int16]) -> None:
    planned = PlanSegment(0, 0, len(TEXT), TEXT, 0.0)

    assert heard(samples, planned, "german").method is Method.ESTIMATED
    assert heard(samples, replace(planned, language="German")).method is Method.ESTIMATED
    assert heard(samples, planned, "auto").method is Method.ALIGNED
    gap = heard(samples, planned, flags=(SILENCED,))
    assert gap.method is None
    assert gap.sentences[0].words == ()


def test_a_sentence_without_words_lasts_no_time_beside_others(samples: NDArray[np.int16]) -> None:
    timed = heard(samples, PlanSegment(0, 0, len(TEXT) + 4, f"{TEXT} ***", 0.0, breaks=(len(TEXT) + 1,)))

    moon, stars = timed.sentences
    assert stars.span.start_s == stars.span.end_s == moon.span.end_s
    alone = heard(samples, PlanSegment(0, 0, 3, "***", 0.0))
    assert alone.sentences[0].span.duration_s > 2
