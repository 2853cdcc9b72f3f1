"""Recordings to frames: the official codes, alone and in company."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import soxr
from torch import Tensor

from worker.engine.errors import RequestRejected
from worker.engine.interface import CodecFrames
from worker.engine.stages.codec import CodecStage

RATE_HZ = 24_000
SAMPLES_PER_FRAME = 1920


@pytest.fixture(scope="module")
def codec(checkpoints: Mapping[str, Path]) -> CodecStage:
    return CodecStage.load(checkpoints["base"], "cpu")


def samples_of(recording: Mapping[str, Tensor], clip: str) -> np.ndarray:
    return recording[f"encode.{clip}.pcm16"].numpy().astype(np.float32) / 32768


def encoded(codec: CodecStage, pcm: np.ndarray, rate_hz: int = RATE_HZ) -> CodecFrames:
    (frames,) = codec.encode([codec.prepared(pcm, rate_hz)])
    return frames


@pytest.mark.parametrize("clip", ["whole_frames", "ragged", "one_frame"])
def test_a_recording_gets_the_official_codes(
    codec: CodecStage, codec_recording: Mapping[str, Tensor], clip: str
) -> None:
    frames = encoded(codec, samples_of(codec_recording, clip))

    assert frames.dtype == np.int16
    np.testing.assert_array_equal(frames, codec_recording[f"encode.{clip}.codes"].numpy())


def test_clips_in_company_get_the_codes_that_they_get_alone(
    codec: CodecStage, codec_recording: Mapping[str, Tensor]
) -> None:
    clips = [samples_of(codec_recording, clip) for clip in ("whole_frames", "one_frame", "ragged")]
    # 15 s: longer than a window and a block of queries, with the others' padding in all of them.
    clips.insert(1, np.tile(clips[0], 12))

    together = codec.encode([codec.prepared(clip, RATE_HZ) for clip in clips])

    for frames, clip in zip(together, clips, strict=True):
        np.testing.assert_array_equal(frames, encoded(codec, clip))


def test_a_ragged_end_is_filled_with_silence(codec: CodecStage, codec_recording: Mapping[str, Tensor]) -> None:
    ragged = samples_of(codec_recording, "ragged")
    padded = np.pad(ragged, (0, -len(ragged) % SAMPLES_PER_FRAME))

    np.testing.assert_array_equal(encoded(codec, ragged), encoded(codec, padded))


def test_what_follows_does_not_change_earlier_frames(codec: CodecStage, codec_recording: Mapping[str, Tensor]) -> None:
    # 33 s: attention works through several blocks of queries, most of them with a full window behind them.
    long = np.tile(samples_of(codec_recording, "whole_frames"), 26)
    start = long[: 200 * SAMPLES_PER_FRAME]

    np.testing.assert_array_equal(encoded(codec, long)[:200], encoded(codec, start))


def test_another_sample_rate_is_converted(codec: CodecStage, codec_recording: Mapping[str, Tensor]) -> None:
    at_48_khz = soxr.resample(samples_of(codec_recording, "whole_frames"), RATE_HZ, 48_000)

    frames = encoded(codec, at_48_khz, 48_000)

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
        codec.prepared(pcm, rate_hz)
