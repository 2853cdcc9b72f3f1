"""Recordings to frames: the official codes, one clip at a time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import soxr
from torch import Tensor

from worker.engine.errors import RequestRejected
from worker.engine.native.stages.codec import CodecStage

RATE_HZ = 24_000
SAMPLES_PER_FRAME = 1920


@pytest.fixture(scope="module")
def codec(checkpoints: Mapping[str, Path]) -> CodecStage:
    return CodecStage.load(checkpoints["base"], "cpu")


def samples_of(recording: Mapping[str, Tensor], clip: str) -> np.ndarray:
    return recording[f"encode.{clip}.pcm16"].numpy().astype(np.float32) / 32768


@pytest.mark.parametrize("clip", ["whole_frames", "ragged", "one_frame"])
def test_a_recording_gets_the_official_codes(
    codec: CodecStage, codec_recording: Mapping[str, Tensor], clip: str
) -> None:
    frames = codec.encode(samples_of(codec_recording, clip), RATE_HZ)

    assert frames.dtype == np.int16
    np.testing.assert_array_equal(frames, codec_recording[f"encode.{clip}.codes"].numpy())


def test_a_ragged_end_is_filled_with_silence(codec: CodecStage, codec_recording: Mapping[str, Tensor]) -> None:
    ragged = samples_of(codec_recording, "ragged")
    padded = np.pad(ragged, (0, -len(ragged) % SAMPLES_PER_FRAME))

    np.testing.assert_array_equal(codec.encode(ragged, RATE_HZ), codec.encode(padded, RATE_HZ))


def test_what_follows_does_not_change_earlier_frames(codec: CodecStage, codec_recording: Mapping[str, Tensor]) -> None:
    # 33 s: attention works through several blocks of queries, most of them with a full window behind them.
    long = np.tile(samples_of(codec_recording, "whole_frames"), 26)
    start = long[: 200 * SAMPLES_PER_FRAME]

    np.testing.assert_array_equal(codec.encode(long, RATE_HZ)[:200], codec.encode(start, RATE_HZ))


def test_another_sample_rate_is_converted(codec: CodecStage, codec_recording: Mapping[str, Tensor]) -> None:
    at_48_khz = soxr.resample(samples_of(codec_recording, "whole_frames"), RATE_HZ, 48_000)

    frames = codec.encode(at_48_khz, 48_000)

    assert len(frames) == len(codec_recording["encode.whole_frames.codes"])


@pytest.mark.parametrize(
    ("pcm", "rate_hz", "complaint"),
    [
        (np.zeros(0, dtype=np.float32), RATE_HZ, "too short"),
        (np.zeros((2, 4800), dtype=np.float32), RATE_HZ, "mono"),
        (np.array([0.0, np.nan, 0.0], dtype=np.float32), RATE_HZ, "finite"),
        (np.array([0.0, np.inf, 0.0], dtype=np.float32), RATE_HZ, "finite"),
        (np.zeros(4800, dtype=np.float32), 0, "0 samples a second"),
        (np.zeros(61 * RATE_HZ, dtype=np.float32), RATE_HZ, "too long: 61.0 s"),
    ],
    ids=["empty", "stereo", "not a number", "infinite", "no rate", "a minute and more"],
)
def test_what_is_no_recording_is_rejected(codec: CodecStage, pcm: np.ndarray, rate_hz: int, complaint: str) -> None:
    with pytest.raises(RequestRejected, match=complaint):
        codec.encode(pcm, rate_hz)
