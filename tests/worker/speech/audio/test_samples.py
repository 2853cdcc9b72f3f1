"""Samples are rounded as documented and the header is exact."""

from __future__ import annotations

import io
import wave
from pathlib import Path

import numpy as np
import pytest
import soundfile

from storage.audio.wav import MAX_SAMPLES, RF64_HEADER_BYTES, streaming_wav_header, wav_header
from worker.speech.audio.samples import NotFinite, to_bytes, to_samples


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


def test_beyond_four_gigabytes_the_file_is_rf64(tmp_path: Path) -> None:
    num_samples = MAX_SAMPLES + 1
    file = tmp_path / "long.wav"
    file.write_bytes(wav_header(num_samples, 24_000))
    with file.open("r+b") as sparse:
        sparse.truncate(RF64_HEADER_BYTES + 2 * num_samples)

    info = soundfile.info(file)

    assert (info.format, info.frames, info.samplerate, info.channels) == ("RF64", num_samples, 24_000, 1)
    assert wav_header(MAX_SAMPLES, 24_000)[:4] == b"RIFF"
    assert int.from_bytes(wav_header(MAX_SAMPLES, 24_000)[4:8], "little") <= 0xFFFFFFFF


def test_a_header_of_unknown_length_is_read_to_the_end_of_the_stream() -> None:
    samples = np.arange(1_000, dtype=np.int16)

    with wave.open(io.BytesIO(streaming_wav_header(24_000) + to_bytes(samples))) as reader:
        read = np.frombuffer(reader.readframes(2**30), "<i2")

    assert np.array_equal(read, samples)
