"""Samples are rounded as documented and the header is exact."""

from __future__ import annotations

import io

import numpy as np
import pytest
import soundfile

from storage.wav import MAX_SAMPLES, WavTooLong, num_pause_samples, wav_header
from worker.samples import NotFinite, to_bytes, to_samples


def test_samples_are_scaled_rounded_and_clipped() -> None:
    pcm = np.array([0.0, 1.0, -1.0, 1.5, -1.5, 0.5, 0.25, 1e-5], np.float32)

    assert to_samples(pcm).tolist() == [0, 32767, -32767, 32767, -32768, 16384, 8192, 0]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_samples_that_are_no_numbers_are_refused(value: float) -> None:
    with pytest.raises(NotFinite):
        to_samples(np.array([0.0, value], np.float32))


@pytest.mark.parametrize("num_samples", [0, 1, 12_345])
def test_a_reader_finds_what_the_header_promises(num_samples: int) -> None:
    samples = (np.arange(num_samples) % 30_000).astype(np.int16)

    file = wav_header(num_samples, 24_000) + to_bytes(samples)

    read, rate = soundfile.read(io.BytesIO(file), dtype="int16")
    assert rate == 24_000
    assert np.array_equal(read, samples)
    assert int.from_bytes(file[4:8], "little") == len(file) - 8
    assert int.from_bytes(file[40:44], "little") == len(file) - 44


def test_four_gigabytes_are_the_end() -> None:
    assert int.from_bytes(wav_header(MAX_SAMPLES, 24_000)[4:8], "little") <= 0xFFFFFFFF
    with pytest.raises(WavTooLong, match=r"24\.9 hours"):
        wav_header(MAX_SAMPLES + 1, 24_000)


def test_a_pause_is_rounded_to_samples() -> None:
    assert num_pause_samples(0.25, 24_000) == 6_000
    assert num_pause_samples(0.0, 24_000) == 0
