"""Passes over many streams give what the plain decoder gives for each, however its frames are cut and batched."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
import torch

from worker.engine.cuda.codec.kernels.causal_conv import causal_conv
from worker.engine.cuda.codec.pass_runner import DevicePasses, PassRow
from worker.engine.cuda.codec.plan import CodecPlan, PassShape
from worker.engine.cuda.codec.stream_state import ORIGIN_SLOT
from worker.engine.cuda.codec.weights import CodecWeights, Placement
from worker.engine.model.codec_decoder import CodecDecoder

SAMPLES_PER_FRAME = 8
SHAPES = (PassShape(3, 7), PassShape(2, 3), PassShape(1, 1))


def random_frames(num_frames: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 16, size=(num_frames, 4), dtype=np.int16)


def plain_samples(decoder: CodecDecoder, frames: np.ndarray) -> np.ndarray:
    with torch.inference_mode():
        return decoder(torch.from_numpy(frames.astype(np.int64)), decoder.new_stream()).numpy()


def passes_in(dtype: torch.dtype, decoder: CodecDecoder, device: torch.device) -> DevicePasses:
    weights = CodecWeights.of(decoder, Placement(device, dtype))
    return DevicePasses(weights, CodecPlan(SHAPES, frozenset(), num_streams=3), causal_conv)


def launched(passes: DevicePasses, shape: PassShape, rows: Sequence[PassRow]) -> list[np.ndarray]:
    with torch.inference_mode():
        return passes.launch(shape, rows).samples()


def signal_to_noise_db(samples: np.ndarray, truth: np.ndarray) -> float:
    return float(10 * np.log10(np.square(truth).sum() / np.square(samples - truth).sum()))


def test_utterances_of_different_lengths_share_a_pass(small_decoder: CodecDecoder, device: torch.device) -> None:
    passes = passes_in(torch.float32, small_decoder, device)
    utterances = [random_frames(length, seed=length) for length in (7, 1, 4)]

    rows = [PassRow(frames, ORIGIN_SLOT, passes.scratch_slot) for frames in utterances]
    decoded = launched(passes, PassShape(3, 7), rows)

    for samples, frames in zip(decoded, utterances, strict=True):
        assert samples.shape == (len(frames) * SAMPLES_PER_FRAME,)
        assert np.abs(samples - plain_samples(small_decoder, frames)).max() <= 1e-5


def test_any_cut_of_any_streams_has_no_seam(small_decoder: CodecDecoder, device: torch.device) -> None:
    passes = passes_in(torch.float32, small_decoder, device)
    draw = random.Random(1)
    utterances = [random_frames(draw.randint(6, 9), seed) for seed in range(3)]
    heard: list[list[np.ndarray]] = [[] for _ in utterances]
    at = [0, 0, 0]

    while waiting := [n for n, frames in enumerate(utterances) if at[n] < len(frames)]:
        shape = draw.choice(SHAPES)
        chosen = draw.sample(waiting, min(len(waiting), shape.num_streams))
        parts = [utterances[n][at[n] : at[n] + draw.randint(1, shape.num_frames)] for n in chosen]
        slots = [passes.stream_slots[n] for n in chosen]
        begins = [at[n] == 0 for n in chosen]
        rows = [
            PassRow(part, ORIGIN_SLOT if is_begin else slot, slot)
            for part, slot, is_begin in zip(parts, slots, begins, strict=True)
        ]
        for n, part, samples in zip(chosen, parts, launched(passes, shape, rows), strict=True):
            heard[n].append(samples)
            at[n] += len(part)

    for parts, frames in zip(heard, utterances, strict=True):
        assert np.abs(np.concatenate(parts) - plain_samples(small_decoder, frames)).max() <= 1e-5


def test_sixteen_bits_are_as_good_as_their_rounding(small_decoder: CodecDecoder, device: torch.device) -> None:
    passes = passes_in(torch.float16, small_decoder, device)
    frames = random_frames(7, seed=3)

    (samples,) = launched(passes, PassShape(3, 7), [PassRow(frames, ORIGIN_SLOT, passes.scratch_slot)])

    assert signal_to_noise_db(samples, plain_samples(small_decoder, frames)) > 45


def test_a_stream_is_the_same_whatever_shares_its_passes(small_decoder: CodecDecoder, device: torch.device) -> None:
    passes = passes_in(torch.float32, small_decoder, device)
    frames = random_frames(7, seed=5)
    row = PassRow(frames, ORIGIN_SLOT, passes.scratch_slot)
    others = [PassRow(random_frames(7, seed), ORIGIN_SLOT, passes.scratch_slot) for seed in (6, 7)]

    alone = launched(passes, PassShape(3, 7), [row])[0]
    together = launched(passes, PassShape(3, 7), [row, *others])[0]

    assert alone.tobytes() == together.tobytes()


def test_passes_outside_the_graphs_are_counted(small_decoder: CodecDecoder, device: torch.device) -> None:
    passes = passes_in(torch.float32, small_decoder, device)
    rows = [PassRow(random_frames(2, seed=1), ORIGIN_SLOT, passes.scratch_slot)]

    launched(passes, PassShape(2, 3), rows)

    assert passes.counters.fallbacks == 1
    assert passes.counters.graph_hits == 0
    assert (passes.counters.frames, passes.counters.padded_frames) == (2, 6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_memory_is_planned_at_the_start(small_decoder: CodecDecoder, device: torch.device, dtype: torch.dtype) -> None:
    passes = passes_in(dtype, small_decoder, device)

    assert passes.memory_bytes > 0
    assert len(passes.stream_slots) == 3
    assert passes.scratch_slot not in passes.stream_slots
    assert ORIGIN_SLOT not in passes.stream_slots
