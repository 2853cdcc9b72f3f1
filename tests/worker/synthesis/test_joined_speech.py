"""Two parts of a text become one utterance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from worker.engine.interface import FinishReason, Speech
from worker.speech.quality.measures import measure
from worker.synthesis.joined_speech import PAUSE_S, joined

RATE_HZ = 24_000


def tone(lead_s: float, sound_s: float, trail_s: float, reason: FinishReason = FinishReason.EOS) -> Speech:
    times = np.arange(round(sound_s * RATE_HZ)) / RATE_HZ
    pcm = np.concatenate(
        [np.zeros(round(lead_s * RATE_HZ)), 0.3 * np.sin(2 * np.pi * 220 * times), np.zeros(round(trail_s * RATE_HZ))]
    ).astype(np.float32)
    frames = np.arange(16 * round((lead_s + sound_s + trail_s) / 0.08), dtype=np.int16).reshape(-1, 16)
    return Speech(pcm, frames, RATE_HZ, reason, 0.5)


def test_the_silence_between_them_is_a_commas_and_outer_edges_stay() -> None:
    both = joined([tone(0.24, 0.8, 0.4), tone(0.4, 0.8, 0.24)])

    measured = measure(both)
    assert measured.longest_pause_s == pytest.approx(PAUSE_S, abs=0.03)
    assert (measured.leading_s, measured.trailing_s) == pytest.approx((0.24, 0.24), abs=0.02)
    assert measured.speech_s == pytest.approx(1.6 + PAUSE_S, abs=0.05)


def test_frames_stay_whole_and_an_unfinished_part_leaves_the_whole_unfinished() -> None:
    first, second = tone(0.08, 0.8, 0.08), tone(0.08, 0.8, 0.08, FinishReason.LENGTH)

    both = joined([first, second])

    assert np.array_equal(both.frames, np.concatenate([first.frames, second.frames]))
    assert both.finish_reason is FinishReason.LENGTH
    assert both.engine_s == 1.0


def test_a_word_that_both_parts_guessed_is_told_once() -> None:
    told = [replace(tone(0.1, 0.5, 0.1), guessed=words) for words in (("Kel", "Vashkiri"), ("Vashkiri", "Zorath"))]

    assert joined(told).guessed == ("Kel", "Vashkiri", "Zorath")


def test_a_part_without_speech_keeps_its_place() -> None:
    silent = tone(0.5, 0.0, 0.5)

    both = joined([tone(0.1, 0.5, 0.1), silent])

    assert len(both.pcm) >= len(silent.pcm)


def test_the_start_of_a_decoder_is_not_heard_in_the_middle() -> None:
    first, second = tone(0.07, 0.8, 0.08), tone(0.07, 0.8, 0.08)
    second.pcm[0] = 0.0197

    both = joined([first, second])

    joint = round(0.87 * RATE_HZ), round((0.87 + PAUSE_S) * RATE_HZ)
    assert measure(second).leading_s == pytest.approx(0.07, abs=0.011)
    assert np.abs(both.pcm[joint[0] + 1 : joint[1] - 240]).max() < 0.001


def test_one_part_is_itself() -> None:
    speech = tone(0.1, 0.5, 0.1)

    assert joined([speech]) is speech
