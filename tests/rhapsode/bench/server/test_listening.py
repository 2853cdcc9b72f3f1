"""What a listener makes of pieces of audio: the same wherever the pieces were cut, and right about every hole."""

from __future__ import annotations

import io
import math
import struct
import wave
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rhapsode.bench.server.listening import CountedWindow, Ear, NotHeard, Onset, SimulatedPlayback, WavStream

RATE_HZ = 8_000
cuts = st.lists(st.integers(0, 4_000), max_size=12)
pieces = st.lists(st.tuples(st.floats(0.001, 2), st.floats(0, 3)), min_size=1, max_size=30)
"""Of audio: how much, and how long after the one before it comes."""


def tone(seconds: float, amplitude: int) -> bytes:
    count = round(seconds * RATE_HZ)
    return struct.pack(f"<{count}h", *(round(amplitude * math.sin(n * 0.7)) for n in range(count)))


def cut(data: bytes, places: list[int], unit: int = 1) -> list[bytes]:
    """In units of so many bytes."""
    marks = sorted({0, len(data), *(unit * (place % (len(data) // unit + 1)) for place in places)})
    return [data[begin:end] for begin, end in pairwise(marks)]


@settings(deadline=None, derandomize=True)
@given(quiet=st.floats(0, 0.4), places=cuts)
def test_sound_begins_where_it_begins_however_it_comes(quiet: float, places: list[int]) -> None:
    onset = Onset(RATE_HZ)

    for piece in cut(tone(quiet, 60) + tone(0.2, 8_000), places, unit=2):
        onset.take(piece)

    assert onset.offset_s is not None
    assert quiet - 0.011 <= onset.offset_s <= quiet + 0.011


def test_neither_hiss_nor_a_click_nor_an_offset_is_sound() -> None:
    for quiet in (tone(1, 100), tone(0.5, 0) + tone(0.01, 20_000) + tone(0.5, 0), struct.pack("<h", 5_000) * RATE_HZ):
        onset = Onset(RATE_HZ)
        onset.take(quiet)
        assert onset.offset_s is None


@settings(deadline=None, derandomize=True)
@given(pieces=pieces)
def test_who_waits_as_long_as_the_buffer_says_hears_no_hole_and_not_a_moment_less(
    pieces: list[tuple[float, float]],
) -> None:
    playback, now_s, arrivals = SimulatedPlayback(), 0.0, list[tuple[float, float]]()
    for seconds, later_s in pieces:
        now_s += later_s
        arrivals.append((seconds, now_s))
        playback.add(seconds, now_s)

    late = [when - arrivals[0][1] - before for before, when in behind(arrivals)]
    assert playback.audio_s == pytest.approx(sum(seconds for seconds, _ in arrivals))
    assert playback.buffer_s == pytest.approx(max(late), abs=1e-9)
    assert (playback.gaps > 0) == (playback.buffer_s > 0)
    assert playback.longest_gap_s <= playback.buffer_s + 1e-9


def behind(arrivals: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """How much audio was there before each piece, and when it came."""
    found, before = list[tuple[float, float]](), 0.0
    for seconds, when in arrivals:
        found.append((before, when))
        before += seconds
    return found


def test_a_hole_moves_what_is_played_behind_it() -> None:
    playback = SimulatedPlayback()
    playback.add(1.0, 10.0)
    playback.add(1.0, 10.5)
    playback.add(1.0, 13.0)

    assert (playback.gaps, playback.buffer_s, playback.longest_gap_s) == (1, 1.0, 1.0)
    assert playback.played_s(2.25) == 13.25


def test_a_place_that_has_not_come_is_not_played() -> None:
    playback = SimulatedPlayback()
    playback.add(1.0, 10.0)

    with pytest.raises(ValueError, match="no such place"):
        playback.played_s(1.5)


@settings(deadline=None, derandomize=True)
@given(places=cuts)
def test_a_wav_is_its_samples_however_it_comes(places: list[int]) -> None:
    samples = tone(0.2, 8_000)
    file = io.BytesIO()
    with wave.open(file, "wb") as wav:
        wav.setparams((1, 2, RATE_HZ, 0, "NONE", ""))
        wav.writeframes(samples)
    stream = WavStream()

    heard = b"".join(stream.take(piece) for piece in cut(file.getvalue(), places))

    assert (heard, stream.sample_rate_hz) == (samples, RATE_HZ)


@settings(deadline=None, derandomize=True)
@given(data=st.binary(max_size=200))
def test_what_is_no_wav_is_refused_or_still_waited_for(data: bytes) -> None:
    for head in (b"", b"RIFF\0\0\0\0WAVE", b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0"):
        stream = WavStream()
        try:
            stream.take(head + data)
        except NotHeard:
            continue
        assert stream.sample_rate_hz is None or stream.sample_rate_hz > 0


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@settings(deadline=None, derandomize=True)
@given(places=cuts)
def test_an_ear_counts_what_came_within_its_window_to_the_sample(places: list[int]) -> None:
    clock = Clock()
    ear = Ear(CountedWindow(1.0, 3.0), clock=clock)
    data = tone(0.5, 8_000)
    ear.sent()
    ear.form(RATE_HZ)
    for piece in cut(data, places):
        clock.now_s = min(2.9, clock.now_s + 1.0)
        ear.hear(piece)
    clock.now_s = 4.0
    ear.hear(data)
    ear.end()

    assert ear.playback.audio_s == pytest.approx(1.0)
    assert ear.window_audio_s == pytest.approx(0.5, abs=1 / RATE_HZ)


def test_what_ends_within_a_sample_or_has_none_was_not_heard() -> None:
    for data, said in ((b"", "no audio"), (b"\0\0\0", "within a sample")):
        ear = Ear(CountedWindow(0.0, 1.0))
        ear.form(RATE_HZ)
        ear.hear(data)
        with pytest.raises(NotHeard, match=said):
            ear.end()
