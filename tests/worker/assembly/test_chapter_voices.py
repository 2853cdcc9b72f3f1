"""A speaker who sounds otherwise in one chapter is found from what the quality gate measured of each segment."""

from __future__ import annotations

import pytest

from reading.plan.plan import PlanSegment
from storage.segments.file import SegmentHeader
from storage.segments.results import SegmentResult
from storage.segments.timeline import Placed
from worker.assembly.chapter_voices import LEAST_SEGMENTS, ChapterVoice, chapter_voices, drift_warnings

RATE_HZ = 24_000
Said = tuple[str, int, dict[str, float]]


def said(speaker: str, chapter: int, pitch_hz: float, voice_db: float, number: int = LEAST_SEGMENTS) -> list[Said]:
    """Segments of three seconds each, whose pitches rise and fall by a tenth."""
    factors = [0.9 + 0.2 * at / (number - 1) for at in range(number)] if number > 1 else [1.0]
    return [
        (speaker, chapter, {"speech_s": 3.0, "pitch_hz": pitch_hz * each, "voice_db": voice_db}) for each in factors
    ]


def voices(*parts: list[Said], instructions: str | None = None) -> dict[str, tuple[ChapterVoice, ...]]:
    rows = [row for part in parts for row in part]
    placed = [
        Placed(
            PlanSegment(index, 0, 1, "Words.", 0.4, speaker=speaker, chapter=chapter, instructions=instructions),
            SegmentResult(index, 1, RATE_HZ, ""),
            index * RATE_HZ,
            0,
        )
        for index, (speaker, chapter, _) in enumerate(rows)
    ]
    headers = [
        SegmentHeader("job", index, 1, "", 1, "eos", "model", "", RATE_HZ, checks=checks)
        for index, (_, _, checks) in enumerate(rows)
    ]
    return chapter_voices(placed, headers)


def test_a_voice_that_stays_is_told_and_not_warned_of() -> None:
    found = voices(said("MARY", 0, 200.0, 5.0), said("", 0, 110.0, 4.0), said("MARY", 1, 204.0, 5.2), [("TOM", 1, {})])

    assert found == {"MARY": (ChapterVoice(0, 8, -0.17, -0.1), ChapterVoice(1, 8, 0.17, 0.1))}
    assert list(drift_warnings(found)) == []


@pytest.mark.parametrize(("pitch_hz", "voice_db"), [(260.0, 5.0), (150.0, 5.0), (200.0, 7.0)])
def test_another_voice_in_a_chapter_is_warned_of(pitch_hz: float, voice_db: float) -> None:
    usual = [part for chapter in range(3) for part in said("MARY", chapter, 200.0, 5.0)]

    (warning,) = drift_warnings(voices(usual, said("MARY", 3, pitch_hz, voice_db), said("", 1, 110.0, 4.0)))

    assert (warning.code, warning.segment) == ("voice_drift", None)
    assert warning.detail.startswith("MARY may sound like another voice in chapter 4 (")


def test_a_few_words_and_what_is_whispered_are_no_drift() -> None:
    few = voices(said("", 0, 200.0, 5.0), said("", 1, 300.0, 9.0, LEAST_SEGMENTS - 1))

    assert [each.segments for each in few[""]] == [8, 7]
    assert list(drift_warnings(few)) == []
    assert voices(said("", 0, 200.0, 5.0), said("", 1, 300.0, 9.0), instructions="whisper") == {}
