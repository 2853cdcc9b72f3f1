"""Frames to samples: as the official decoder, in any chunks, for any length."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.property_tests import examples
from tests.threads import BoundedExecutor
from worker.engine.model.codec_config import codec_config_from
from worker.engine.model.codec_decoder import CodecDecoder
from worker.engine.model.config import read_config
from worker.engine.model.weights import read_tensors, tensors_under
from worker.engine.stages.codec import CodecStage

TOLERANCE = 1e-5
SAMPLES_PER_FRAME = 1920


@pytest.fixture(scope="module")
def codec(checkpoints: Mapping[str, Path]) -> CodecStage:
    return CodecStage.load(checkpoints["base"], "cpu")


def random_frames(num_frames: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 64, size=(num_frames, 16), dtype=np.int16)


def test_one_pass_gives_the_official_samples(
    checkpoints: Mapping[str, Path], codec_recording: Mapping[str, Tensor]
) -> None:
    folder = checkpoints["base"] / "speech_tokenizer"
    config = codec_config_from(read_config(folder / "config.json")).decoder
    tensors = tensors_under(read_tensors(folder / "model.safetensors"), "decoder.")
    decoder = CodecDecoder.load(config, tensors, "test")

    with torch.inference_mode():
        pcm = decoder(codec_recording["decode.codes"].long(), decoder.new_stream())

    assert pcm.shape == codec_recording["decode.pcm"].shape
    assert (pcm - codec_recording["decode.pcm"]).abs().max() <= TOLERANCE


def test_a_whole_utterance_gives_the_official_samples(codec: CodecStage, codec_recording: Mapping[str, Tensor]) -> None:
    pcm = codec.decode(codec_recording["decode.codes"].numpy())

    assert pcm.dtype == np.float32
    assert np.abs(pcm - codec_recording["decode.pcm"].numpy()).max() <= TOLERANCE


@settings(max_examples=examples(25), deadline=None)
@given(sizes=st.lists(st.integers(0, 12), min_size=1, max_size=12), seed=st.integers(0, 2**32 - 1))
def test_any_chunks_of_a_stream_give_the_samples_of_the_whole(codec: CodecStage, sizes: list[int], seed: int) -> None:
    frames = random_frames(sum(sizes), seed)
    stream = codec.open_stream()

    chunks = [stream.push(part) for part in np.split(frames, np.cumsum(sizes)[:-1])]

    assert [len(chunk) for chunk in chunks] == [size * SAMPLES_PER_FRAME for size in sizes]
    difference = np.abs(np.concatenate(chunks) - codec.decode(frames))
    assert difference.max(initial=0.0) <= TOLERANCE


def test_streams_that_take_turns_do_not_hear_each_other(codec: CodecStage) -> None:
    utterances = [random_frames(6, seed=1), random_frames(6, seed=2)]
    streams = [codec.open_stream() for _ in utterances]

    turns = [
        [stream.push(frames[n : n + 2]) for stream, frames in zip(streams, utterances, strict=True)] for n in (0, 2, 4)
    ]

    for number, frames in enumerate(utterances):
        heard = np.concatenate([turn[number] for turn in turns])
        assert np.abs(heard - codec.decode(frames)).max() <= TOLERANCE


def test_equal_frames_give_equal_bits_also_in_parallel(codec: CodecStage) -> None:
    frames = random_frames(37)

    with BoundedExecutor(2) as pool:
        results = list(pool.map(codec.decode, [frames] * 4))

    assert len({result.tobytes() for result in results}) == 1


def test_two_minutes_decode_with_the_memory_of_a_few_seconds(codec: CodecStage) -> None:
    frames = random_frames(1500)
    stream = codec.open_stream()

    pcm = [stream.push(frames[:100])]
    size_after_seconds = sum(slot.numel() for slot in stream.state.slots)
    pcm.append(stream.push(frames[100:]))
    size_after_minutes = sum(slot.numel() for slot in stream.state.slots)

    assert size_after_minutes == size_after_seconds
    assert sum(map(len, pcm)) == 1500 * SAMPLES_PER_FRAME
    assert np.abs(pcm[0] - codec.decode(frames[:100])).max() <= TOLERANCE


def test_no_frames_are_no_samples(codec: CodecStage) -> None:
    assert codec.decode(np.zeros((0, 16), dtype=np.int16)).shape == (0,)


@pytest.mark.parametrize(
    "frames",
    [
        np.zeros((3, 15), dtype=np.int16),
        np.zeros((3, 16), dtype=np.float32),
        np.zeros(16, dtype=np.int16),
        np.full((3, 16), 64, dtype=np.int16),
        np.full((3, 16), -1, dtype=np.int16),
    ],
    ids=["too few codebooks", "not integers", "one frame without its axis", "code too large", "negative code"],
)
def test_frames_of_another_codec_are_refused(codec: CodecStage, frames: np.ndarray) -> None:
    with pytest.raises(ValueError, match="frames"):
        codec.decode(frames)
