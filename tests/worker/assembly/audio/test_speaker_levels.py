"""Speakers of a cast are evened, each by one gain that stays."""

from __future__ import annotations

import numpy as np
import pytest

from reading.plan.plan import PlanSegment
from rhapsode.contract.jobs.output import Loudness, LoudnessScope
from storage.segments.results import SegmentResult
from storage.segments.timeline import Placed
from worker.assembly.audio.speaker_levels import (
    CEILING,
    EVEN_LU,
    MOST_DB,
    SpeakerLevel,
    amplified,
    segment_gain_db,
    speaker_levels,
)

RATE_HZ = 24_000


def spoken(*said: tuple[str, float | None]) -> list[Placed]:
    """Segments of a second by speakers, so loud in LUFS."""
    return [
        Placed(
            PlanSegment(index, index, index + 1, "Words.", 0.4, speaker=speaker),
            SegmentResult(index, 1, RATE_HZ, "", loudness_lufs=loudness),
            index * RATE_HZ,
            0,
        )
        for index, (speaker, loudness) in enumerate(said)
    ]


def gains(levels: tuple[SpeakerLevel, ...]) -> dict[str, float]:
    return {each.name: each.gain_db for each in levels}


def test_speakers_are_brought_to_one_level() -> None:
    levels = speaker_levels(spoken(("", -24.0), ("Mary", -30.0), ("Tom", -18.0), ("", -24.0)), str, ())

    heard = [each.heard_lufs for each in levels if each.heard_lufs is not None]
    assert len(heard) == 3
    assert max(heard) - min(heard) <= 0.1 + 1e-9


def test_who_is_near_enough_stays_as_spoken() -> None:
    assert gains(speaker_levels(spoken(("", -24.0), ("Mary", -24.0 - EVEN_LU)), str, ())) == {"": 0.0, "Mary": 0.0}
    assert gains(speaker_levels(spoken(("", -24.0), ("", -40.0)), str, ())) == {"": 0.0}


def test_a_gain_stays_when_something_is_said_otherwise() -> None:
    first = speaker_levels(spoken(("", -24.0), ("Mary", -30.0)), str, ())

    again = speaker_levels(spoken(("", -20.0), ("Mary", -33.0)), str, first)

    assert again == first


def test_who_joins_later_comes_to_the_level_of_the_others() -> None:
    first = speaker_levels(spoken(("", -24.0), ("Mary", -30.0)), str, ())

    later = speaker_levels(spoken(("", -24.0), ("Mary", -30.0), ("Tom", -16.0)), str, first)

    assert later[:2] == first
    assert later[2].heard_lufs == pytest.approx(first[0].heard_lufs, abs=0.2)


def test_another_voice_under_the_same_name_is_measured_anew() -> None:
    first = speaker_levels(spoken(("", -24.0), ("Mary", -30.0)), lambda name: name or "ada", ())

    later = speaker_levels(spoken(("", -24.0), ("Mary", -21.0)), lambda name: f"{name}2" if name else "ada", first)

    assert later[0] == first[0]
    assert later[1].heard_lufs == pytest.approx(first[0].heard_lufs, abs=0.1)


def test_what_is_too_short_to_have_a_loudness_is_left_alone() -> None:
    assert gains(speaker_levels(spoken(("", -24.0), ("Mary", None)), str, ())) == {"": 0.0, "Mary": 0.0}


def test_segments_come_to_the_target_or_to_their_speaker_and_stay_as_they_are_where_none_is_asked_for() -> None:
    speaker, unmeasured = SpeakerLevel("", "ada", -25.0, 2.0), SpeakerLevel("", "ada", None)
    each = Loudness(target_lufs=-19, scope=LoudnessScope.SEGMENT)

    def gains_db(target: Loudness | None) -> list[float]:
        segments = [SegmentResult(0, 1, RATE_HZ, "", loudness_lufs=own) for own in (-22.0, None, -40.0)]
        return [segment_gain_db(speaker, target, each) for each in segments]

    assert gains_db(None) == [2.0, 2.0, 2.0]
    assert gains_db(each) == [3.0, 6.0, MOST_DB]
    assert gains_db(Loudness(target_lufs=-16)) == [-1.0, 2.0, MOST_DB]
    assert segment_gain_db(unmeasured, each, SegmentResult(0, 1, RATE_HZ, "")) == 0


def test_a_gain_never_passes_the_ceiling_and_none_leaves_the_very_samples() -> None:
    rng = np.random.default_rng(1)
    samples = (rng.uniform(-0.9, 0.9, RATE_HZ) * 32767).astype(np.int16)
    level = SpeakerLevel("Mary", "ada", -30.0, 6.0)

    assert np.abs(amplified(samples, level.gain_db, RATE_HZ)).max() <= CEILING
    assert amplified(samples, 0.0, RATE_HZ) is samples
