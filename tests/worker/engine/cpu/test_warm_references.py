"""A codec that has heard a reference once speaks on from it as if it heard it again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from worker.engine.cpu.codec_lane import WarmReferences
from worker.engine.interface import CodecFrames, Pcm
from worker.engine.model.codec_layers import StreamState
from worker.engine.stages.codec import CodecStage


@pytest.fixture(scope="module")
def codec(checkpoints: Mapping[str, Path]) -> CodecStage:
    return CodecStage.load(checkpoints["base"], "cpu")


@pytest.fixture
def decoded(codec: CodecStage, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many frames each call of the codec had."""
    counts: list[int] = []
    decode_next = codec.decode_next

    def counted(new: CodecFrames, state: StreamState) -> Pcm:
        counts.append(len(new))
        return decode_next(new, state)

    monkeypatch.setattr(codec, "decode_next", counted)
    return counts


def frames(codec: CodecStage, num_frames: int, seed: int) -> CodecFrames:
    size, width = codec.config.codebook_size, codec.config.num_quantizers
    return np.random.default_rng(seed).integers(0, size, (num_frames, width), dtype=np.int16)


def test_every_utterance_after_a_reference_sounds_as_after_hearing_it_anew(
    codec: CodecStage, decoded: list[int]
) -> None:
    warm, reference = WarmReferences(codec), frames(codec, 21, 1)
    utterances = [frames(codec, length, 2 + length) for length in (5, 33, 5)]

    spoken = [warm.stream_after(reference).push(utterance) for utterance in utterances]

    assert decoded == [21, 5, 33, 5]
    for pcm, utterance in zip(spoken, utterances, strict=True):
        anew = codec.open_stream()
        anew.push(reference)
        np.testing.assert_array_equal(pcm, anew.push(utterance))
        whole = codec.decode(np.concatenate((reference, utterance)))
        np.testing.assert_allclose(pcm, whole[-pcm.size :], atol=1e-5)


def test_references_are_told_apart(codec: CodecStage) -> None:
    warm, utterance = WarmReferences(codec), frames(codec, 4, 9)

    one, other = (warm.stream_after(frames(codec, 12, seed)).push(utterance) for seed in (1, 2))

    assert not np.array_equal(one, other)


def test_states_are_kept_within_their_bound(codec: CodecStage, decoded: list[int]) -> None:
    state = WarmReferences(codec).stream_after(frames(codec, 12, 0)).state
    warm = WarmReferences(codec, max_bytes=3 * sum(slot.nbytes for slot in state.slots))

    for seed in (*range(6), 3, 4, 5):
        warm.stream_after(frames(codec, 12, seed))
    assert decoded == [12] * 7
    warm.stream_after(frames(codec, 12, 2))

    assert decoded == [12] * 8
