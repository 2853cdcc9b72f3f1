"""A room is as quiet as was asked for, the same for the same seed, and without a seam."""

from __future__ import annotations

import numpy as np
import pytest

from worker.speech.audio.room_tone import PERIOD_S, RoomTone

RATE_HZ = 24_000


@pytest.mark.parametrize(("level_db", "rate_hz"), [(-75.0, 24_000), (-60.0, 44_100)])
def test_its_level_is_the_one_asked_for_and_never_digital_silence(level_db: float, rate_hz: int) -> None:
    sound = np.rint(RoomTone(level_db, rate_hz, 1).next(20 * rate_hz))

    windows = np.sqrt(np.square(sound.reshape(-1, rate_hz // 2)).mean(axis=1)) / 32767
    assert 20 * np.log10(np.sqrt(np.square(windows).mean())) == pytest.approx(level_db, abs=0.3)
    assert 20 * np.log10(windows) == pytest.approx(level_db, abs=2)


def test_pieces_are_the_whole_and_seeds_make_rooms() -> None:
    whole = RoomTone(-70, RATE_HZ, 5).next(100_000)
    tone = RoomTone(-70, RATE_HZ, 5)

    np.testing.assert_array_equal(np.concatenate([tone.next(num) for num in (1, 33_333, 0, 66_666)]), whole)
    assert not np.array_equal(RoomTone(-70, RATE_HZ, 6).next(100_000), whole)


def test_there_is_no_seam_where_it_comes_again() -> None:
    period = round(PERIOD_S * RATE_HZ)
    steps = np.abs(np.diff(RoomTone(-70, RATE_HZ, 5).next(2 * period)))

    assert steps[period - 1] <= steps[: period - 1].max()
