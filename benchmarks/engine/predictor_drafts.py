"""Whether drafts of residual codes would make the code predictor faster, and at what agreement.

    python benchmarks/engine/predictor_drafts.py [--checkpoint worker/small_voice] [--sentences 60] [--temperature 0.9]
    python benchmarks/engine/predictor_drafts.py --device cuda:0 [--sizes 0.6B,1.7B] [--rows 1,2,4,8,16]

A draft proposes the next codes of a frame, one pass over k + 1 positions computes the true ones with the same noise,
and those that agree are kept: the codes are those of one position a pass, if the pass rounds like single ones. Prints
one JSON object: how often drafts agree with the codes that the checkpoint makes (three quarters of the sentences fill
the tables, the rest is asked), what a pass over several positions costs beside one over one position (both in turn,
CPU of this thread) and whether its states are the same bits, and from both the time of a frame's passes for drafts
that agree so often. What a draft costs itself, and its k further draws, is not in it.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from worker.engine.distil.spoken_frames import Said, SpokenStates, say_all
from worker.engine.interface import TokenSampling
from worker.engine.model.code_predictor import CodePredictor
from worker.engine.model.config import CodePredictorConfig, read_model_config
from worker.engine.model.layers import RotaryTable
from worker.engine.model.speech_modules import load_modules
from worker.engine.native import NativeEngine
from worker.engine.requests.sampling import NoiseTable, RowSampling, draw_for, likeliest
from worker.engine.settings import NativeEngineSettings
from worker.engine.stages.draft_heads import read_heads

if TYPE_CHECKING:
    from benchmarks.engine.drafted_frames import PassFigures

ROOT = Path(__file__).resolve().parents[2]
SENTENCES = ROOT / "training/corpus/calibration_sentences.txt"
ROWS = (1, 2, 4, 8, 16)
DRAFTED = (1, 3, 7)
AGREEMENTS = (0.05, 0.1, 0.3, 0.5, 0.7, 0.9)
ROW_STEP = 4  # of the CPU's frames: a row alone is a pass over four
SIMULATED_FRAMES = 200
NUM_GUESSES = 3
FIRST_DRAFTED = 2  # position behind the hidden state and codebook 0, where a frame's second pass begins

Codes = npt.NDArray[np.int64]
Guess = Callable[[Codes, int], Codes]


@dataclass(frozen=True, slots=True)
class Passes:
    """Of one number of rows and drafted codes; times are shares of a pass over one position."""

    rows: int
    drafted: int
    pass_cost: float
    same_bits: bool
    frame_by_agreement: Mapping[float, float]
    """A frame's passes behind the first, as a share of the plain loop's."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, default=ROOT / "worker/small_voice")
    parser.add_argument("--sentences", type=int, default=60)
    parser.add_argument(
        "--temperature", type=float, help="instead of the checkpoint's own sampling, with a top-k of 20"
    )
    parser.add_argument("--repeats", type=int, default=12, help="pairs of passes for each shape")
    parser.add_argument("--device", type=torch.device, default=torch.device("cpu"))
    parser.add_argument("--sizes", default="0.6B,1.7B", help="published sizes, on a CUDA device")
    parser.add_argument("--rows", default="1,2,4,8,16", help="of a frame, on a CUDA device")
    arguments = parser.parse_args()
    if arguments.device.type == "cuda":
        rows = [int(number) for number in arguments.rows.split(",")]
        measure_on_gpu(arguments.device, arguments.sizes.split(","), rows)
    else:
        measure_on_cpu(arguments)


def measure_on_gpu(device: torch.device, sizes: Sequence[str], rows: Sequence[int]) -> None:
    # Its kernels need Triton, which a machine without a GPU does not have.
    from benchmarks.engine.drafted_frames import (
        engine_frames_ms,
        frames_by_agreement,
        graph_us,
        host_read_us,
        measure_passes,
    )

    torch.cuda.set_device(device)
    print(json.dumps({"device": torch.cuda.get_device_name(device), "torch": torch.__version__}), flush=True)
    passes: list[PassFigures] = []
    for size in sizes:
        frame_ms, predictor = engine_frames_ms(size, rows, device)
        if not passes:
            for figures in measure_passes(predictor, rows, DRAFTED, graph_us):
                passes.append(figures)
                print(json.dumps(asdict(figures)), flush=True)
            print(json.dumps({"host_read_us": round(host_read_us(predictor, rows[0]), 1)}), flush=True)
        num_codebooks = predictor.heads.shape[0] + 1
        for frame in frames_by_agreement(size, frame_ms, passes, AGREEMENTS, mean_passes, num_codebooks):
            print(json.dumps(asdict(frame)), flush=True)
        del predictor
        torch.cuda.empty_cache()


def measure_on_cpu(arguments: argparse.Namespace) -> None:
    load_before = os.getloadavg()[0]
    said = made_speech(arguments.checkpoint, arguments.sentences, arguments.temperature)
    speech = [np.asarray(one.frames, np.int64) for one in said]
    passes = measure_passes(arguments.checkpoint, arguments.repeats)

    print(
        json.dumps(
            {
                "checkpoint": arguments.checkpoint.name,
                "temperature": arguments.temperature,
                "frames": sum(map(len, speech)),
                "load_before": round(load_before, 2),
                "agreement_by_codebook": agreement(speech),
                "agreement_of_heads": agreement_of_heads(arguments.checkpoint, said),
                "passes": [asdict(row) for row in passes],
            },
            indent=1,
        )
    )


def made_speech(checkpoint: Path, num_sentences: int, temperature: float | None) -> tuple[Said, ...]:
    texts = SENTENCES.read_text(encoding="utf-8").splitlines()[:num_sentences]
    engine = NativeEngine(NativeEngineSettings(checkpoint, slots=16, live_slots=0, num_threads=1))
    try:
        sampling = engine.info.default_sampling
        if temperature is not None:
            drawn = TokenSampling(temperature=temperature, top_k=20, top_p=1.0)
            sampling = replace(sampling, talker=drawn, predictor=drawn)
        return say_all(engine, texts, sampling, lambda _: None)
    finally:
        engine.close()


@torch.inference_mode()
def agreement_of_heads(checkpoint: Path, said: Sequence[Said]) -> dict[str, list[float]] | None:
    """For codebooks 1 to Q - 1: the share of frames whose code is the first guess of the checkpoint's heads, and one of
    their three, both with the noise that the code was drawn with. None: the checkpoint has no heads."""
    spoken = SpokenStates(checkpoint)
    num_heads, num_lanes, width = spoken.predictor.heads.weight.shape
    heads = read_heads(checkpoint, num_heads, num_lanes, width)
    if heads is None:
        return None
    frames = spoken.of(said)
    seeds = torch.cat([torch.full((len(one.frames),), one.request.seed) for one in said])
    numbers = torch.cat([torch.arange(len(one.frames)) for one in said])
    noise = NoiseTable((num_lanes + 1, *[num_lanes] * num_heads), seeds.device).at(seeds, numbers)[1:]
    sampling = said[0].request.sampling.predictor
    row = RowSampling(1, num_lanes, seeds.device)
    row.set(0, sampling)
    rows, draw = row.at(torch.zeros_like(seeds)), draw_for((sampling,), num_lanes)
    shares: dict[str, list[float]] = {"first guess": [], "one of three": []}
    for position in range(num_heads):
        scores = heads.scores(position, frames.states[:, position].float(), frames.codes[:, position])
        guesses = likeliest(scores, noise[position], rows, draw, NUM_GUESSES)
        hits = guesses == frames.codes[:, position + 1, None]
        shares["first guess"].append(round(float(hits[:, 0].float().mean()), 3))
        shares["one of three"].append(round(float(hits.any(dim=1).float().mean()), 3))
    return shares


def agreement(speech: Sequence[Codes]) -> dict[str, list[float]]:
    """By draft, for codebooks 1 to Q - 1: the share of frames whose code it guesses."""
    learned, asked = speech[: len(speech) * 3 // 4], speech[len(speech) * 3 // 4 :]
    drafts: dict[str, Guess] = {
        "last frame": lambda codes, g: np.concatenate((codes[:1, g] * 0, codes[:-1, g])),
        "table of the code before": table_of(learned, lambda codes, g: codes[:, g - 1]),
        "table of codebook 0": table_of(learned, lambda codes, _: codes[:, 0]),
    }
    num_codebooks = speech[0].shape[1]
    return {
        name: [
            round(float(np.concatenate([guess(codes, g) == codes[:, g] for codes in asked]).mean()), 3)
            for g in range(1, num_codebooks)
        ]
        for name, guess in drafts.items()
    }


def table_of(learned: Sequence[Codes], key: Guess) -> Guess:
    """The most frequent code of each codebook by the key."""
    size = 1 + max(int(codes.max()) for codes in learned)
    num_codebooks = learned[0].shape[1]
    counts = np.zeros((num_codebooks, size, size), np.int64)
    for codes in learned:
        for g in range(1, num_codebooks):
            np.add.at(counts[g], (key(codes, g), codes[:, g]), 1)
    likeliest = counts.argmax(axis=2)
    return lambda codes, g: likeliest[g][np.minimum(key(codes, g), size - 1)]


@torch.inference_mode()
def measure_passes(checkpoint: Path, repeats: int) -> list[Passes]:
    torch.set_num_threads(1)
    config = read_model_config(checkpoint / "config.json")
    _, predictor = load_modules(checkpoint / "model.safetensors", config, torch.float32, torch.device("cpu"))
    most = config.predictor.num_codebooks - 1 - FIRST_DRAFTED
    shapes = [(rows, drafted) for rows in ROWS for drafted in DRAFTED if drafted <= most]
    return [_passes(config.predictor, predictor, rows, drafted, repeats) for rows, drafted in shapes]


def _passes(config: CodePredictorConfig, predictor: CodePredictor, rows: int, drafted: int, repeats: int) -> Passes:
    """Padding as the engine has it: tokens of a pass are a multiple of four, by padding rows where needed."""
    count = drafted + 1
    single_rows = -(-rows // ROW_STEP) * ROW_STEP
    together_rows = next(n for n in range(rows, single_rows + 1) if n * count % ROW_STEP == 0)
    rotary = RotaryTable(config.transformer, config.num_codebooks, torch.device("cpu"))
    inputs = torch.randn(single_rows, count, config.transformer.hidden_size, generator=torch.Generator().manual_seed(7))
    shape = (config.transformer.num_layers, single_rows, config.num_codebooks)
    past = torch.randn(2, *shape, config.transformer.num_kv_heads, config.transformer.head_dim)
    positions = range(FIRST_DRAFTED, FIRST_DRAFTED + count)
    rotation = rotary.at(torch.tensor(list(positions) * together_rows))
    singly, together = past.clone(), past[:, :, :together_rows].clone()

    ratios: list[float] = []
    same_bits = True
    for _ in range(repeats):
        began_s = time.thread_time()
        states = [
            predictor(inputs[:, n], rotary.span(at, at + 1), PositionsAttention(singly, at, 1))
            for n, at in enumerate(positions)
        ]
        between_s = time.thread_time()
        tokens = inputs[:together_rows].flatten(0, 1)
        passed = predictor(tokens, rotation, PositionsAttention(together, FIRST_DRAFTED, count))
        ended_s = time.thread_time()
        ratios.append((ended_s - between_s) / (between_s - began_s) * count)
        expected = torch.stack(states, dim=1)[:rows]
        same_bits = same_bits and torch.equal(passed.view(together_rows, count, -1)[:rows], expected)
    cost = statistics.median(ratios)
    plain_passes = config.num_codebooks - 1 - 1  # behind the first, which is over two positions in both
    by_agreement = {
        share: round(mean_passes(plain_passes, drafted, share, rows) * cost / plain_passes, 2) for share in AGREEMENTS
    }
    return Passes(rows, drafted, round(cost, 2), same_bits, by_agreement)


@functools.cache
def mean_passes(num_codes: int, drafted: int, share: float, rows: int) -> float:
    """Until the slowest of the rows has its codes, for a synthetic draft that agrees with this probability."""
    random = np.random.default_rng(3)
    return float(
        np.mean(
            [
                max(_frame_passes(random, num_codes, drafted, share) for _ in range(rows))
                for _ in range(SIMULATED_FRAMES)
            ]
        )
    )


def _frame_passes(random: np.random.Generator, num_codes: int, drafted: int, share: float) -> int:
    """Every pass gives one true code, and one more for each drafted code before the first that disagrees."""
    made, passes = 0, 0
    while made < num_codes:
        agrees = random.random(drafted) < share
        made += 1 + int(np.cumprod(agrees).sum())
        passes += 1
    return passes


class PositionsAttention:
    """Several positions of every row next to each other, each attending as it would in a pass of its own."""

    def __init__(self, past: Tensor, start: int, count: int) -> None:
        """past: keys and values, (2, layers, rows, positions, kv_heads, head_dim)."""
        self._past = past
        self._start = start
        self._count = count

    def __call__(self, layer: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        num_rows = keys.shape[0] // self._count
        frame_keys, frame_values = self._past[0, layer], self._past[1, layer]
        stop = self._start + self._count
        frame_keys[:, self._start : stop] = keys.view(num_rows, self._count, *keys.shape[1:])
        frame_values[:, self._start : stop] = values.view(num_rows, self._count, *values.shape[1:])
        attended = [
            F.scaled_dot_product_attention(
                queries[n :: self._count].view(num_rows, keys.shape[1], -1, keys.shape[2]),
                frame_keys[:, : self._start + n + 1].transpose(1, 2),
                frame_values[:, : self._start + n + 1].transpose(1, 2),
            ).reshape(num_rows, -1)
            for n in range(self._count)
        ]
        return torch.stack(attended, dim=1).flatten(0, 1)


if __name__ == "__main__":
    main()
