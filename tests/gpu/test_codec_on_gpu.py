"""The codec's graphs on a real device: as the plain decoder in float32, without a seam, whatever shares a pass."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.worker.engine.cuda.codec.decoder_layers import PUBLISHED
from worker.engine.cuda.codec.captured_passes import CapturedPasses
from worker.engine.cuda.codec.convolution import convolution_for
from worker.engine.cuda.codec.pass_runner import PassRow
from worker.engine.cuda.codec.plan import CodecPlan, PassShape, serving_plan
from worker.engine.cuda.codec.stream_state import ORIGIN_SLOT
from worker.engine.cuda.codec.weights import CodecWeights, Placement
from worker.engine.model.codec_decoder import CodecDecoder
from worker.engine.stages.codec import CodecStage

SMALL_VOICE = Path(__file__).parents[2] / "worker" / "small_voice"
WHOLE, CHUNK, FRAME = PassShape(4, 60), PassShape(4, 13), PassShape(2, 1)
SHAPES = (WHOLE, CHUNK, FRAME)
PLAN = CodecPlan(SHAPES, frozenset(SHAPES), num_streams=4)
LENGTHS = (60, 41, 7, 53)
CUDA = torch.device("cuda")


@pytest.fixture(scope="module")
def published() -> CodecDecoder:
    """Random weights of the published dimensions, quiet enough that no sample is clamped."""
    generator = torch.Generator().manual_seed(3)
    with torch.device("meta"):
        shapes = {name: tensor.shape for name, tensor in CodecDecoder(PUBLISHED).state_dict().items()}
    return CodecDecoder.load(PUBLISHED, {name: drawn(name, s, generator) for name, s in shapes.items()}, "test").cuda()


def drawn(name: str, shape: torch.Size, generator: torch.Generator) -> torch.Tensor:
    values = torch.randn(shape, generator=generator)
    leaf = name.rpartition(".")[2]
    if leaf == "cluster_usage" or ("norm" in name and leaf == "weight"):
        return torch.ones(shape)
    if leaf in {"alpha", "beta", "bias", "scale", "gamma"}:
        return 0.1 * values
    gain = 0.02 if name == "decoder.6.conv.weight" else 0.7
    return gain * values / max(1, shape[1:].numel()) ** 0.5


def frames_for(decoder: CodecDecoder, num_frames: int, seed: int) -> np.ndarray:
    table = decoder.quantizer.projected_entries()
    return np.random.default_rng(seed).integers(0, table.shape[1], (num_frames, table.shape[0])).astype(np.int16)


def plain(decoder: CodecDecoder, frames: np.ndarray) -> np.ndarray:
    with torch.inference_mode():
        return decoder(torch.from_numpy(frames).long().to(CUDA), decoder.new_stream()).cpu().numpy()


def passes_in(decoder: CodecDecoder, dtype: torch.dtype, plan: CodecPlan = PLAN) -> CapturedPasses:
    torch.backends.cudnn.allow_tf32 = False
    with torch.inference_mode():
        return CapturedPasses(CodecWeights.of(decoder, Placement(CUDA, dtype)), plan, convolution_for(CUDA, dtype))


def whole(passes: CapturedPasses, utterances: list[np.ndarray]) -> list[np.ndarray]:
    rows = [PassRow(frames, ORIGIN_SLOT, passes.scratch_slot) for frames in utterances]
    with torch.inference_mode():
        return passes.launch(WHOLE, rows).samples()


def in_chunks(passes: CapturedPasses, utterances: list[np.ndarray]) -> list[np.ndarray]:
    """Four at thirteen frames and two at one in turn, each until its end."""
    heard: list[list[np.ndarray]] = [[] for _ in utterances]
    at = [0] * len(utterances)
    turn = 0
    while waiting := [n for n, frames in enumerate(utterances) if at[n] < len(frames)]:
        shape = (CHUNK, FRAME)[turn % 2]
        turn += 1
        chosen = waiting[: shape.num_streams]
        rows = [
            PassRow(
                utterances[n][at[n] : at[n] + shape.num_frames],
                passes.stream_slots[n] if at[n] else ORIGIN_SLOT,
                passes.stream_slots[n],
            )
            for n in chosen
        ]
        with torch.inference_mode():
            samples = passes.launch(shape, rows).samples()
        for n, row, some in zip(chosen, rows, samples, strict=True):
            heard[n].append(some)
            at[n] += len(row.frames)
    return [np.concatenate(parts) for parts in heard]


def snr_db(samples: np.ndarray, truth: np.ndarray) -> float:
    return float(10 * np.log10(np.square(truth, dtype=np.float64).sum() / np.square(samples - truth).sum()))


@pytest.mark.parametrize(("dtype", "least_db"), [(torch.float32, 80), (torch.float16, 38), (torch.bfloat16, 20)])
def test_signal_to_noise_against_float32(published: CodecDecoder, dtype: torch.dtype, least_db: float) -> None:
    utterances = [frames_for(published, length, seed=length) for length in LENGTHS]
    passes = passes_in(published, dtype)

    for heard in (whole(passes, utterances), in_chunks(passes, utterances)):
        for samples, frames in zip(heard, utterances, strict=True):
            assert snr_db(samples, plain(published, frames)) > least_db


def test_the_small_voice_sounds_as_in_float32() -> None:
    decoder = CodecStage.load(SMALL_VOICE, "cuda").decoder
    utterances = [frames_for(decoder, length, seed=length) for length in LENGTHS]
    passes = passes_in(decoder, torch.float16)

    for heard in (whole(passes, utterances), in_chunks(passes, utterances)):
        for samples, frames in zip(heard, utterances, strict=True):
            assert snr_db(samples, plain(decoder, frames)) > 42


def test_a_graph_is_its_kernels_bit_for_bit(published: CodecDecoder) -> None:
    utterances = [frames_for(published, length, seed=length) for length in LENGTHS]
    graphs = passes_in(published, torch.float16)
    kernels = passes_in(published, torch.float16, replace(PLAN, captured=frozenset()))

    replayed, run = whole(graphs, utterances), whole(kernels, utterances)

    assert [some.tobytes() for some in replayed] == [some.tobytes() for some in run]
    assert (graphs.counters.graph_hits, graphs.counters.fallbacks) == (1, 0)
    assert (kernels.counters.graph_hits, kernels.counters.fallbacks) == (0, 1)


def test_an_utterance_is_the_same_whatever_shares_its_pass(published: CodecDecoder) -> None:
    utterances = [frames_for(published, length, seed=length) for length in LENGTHS]
    passes = passes_in(published, torch.float16)

    alone = whole(passes, utterances[:1])[0]
    together = whole(passes, utterances)[0]

    assert alone.tobytes() == together.tobytes()


def test_every_shape_of_the_plan_is_captured_and_memory_stays(published: CodecDecoder) -> None:
    plan = serving_plan(num_streams=16)
    passes = passes_in(published, torch.float16, plan)
    rows = [PassRow(frames_for(published, 25, seed=1), ORIGIN_SLOT, passes.scratch_slot)]
    torch.cuda.synchronize()
    allocated = torch.cuda.memory_allocated()

    with torch.inference_mode():
        for shape in plan.shapes:
            if shape.num_frames >= 25:
                passes.launch(shape, rows).samples()

    assert passes.counters.fallbacks == 0
    assert torch.cuda.memory_allocated() == allocated
