"""Whether drafts of residual codes would make the code predictor faster on this CPU, and at what agreement.

    python benchmarks/engine/predictor_drafts.py [--checkpoint worker/small_voice] [--sentences 60] [--temperature 0.9]

A draft proposes the next codes of a frame, one pass over k + 1 positions computes the true ones with the same noise,
and those that agree are kept: the codes are those of one position a pass, if the pass rounds like single ones. Prints
one JSON object: how often drafts agree with the codes that the checkpoint makes (three quarters of the sentences fill
the tables, the rest is asked), what a pass over several positions costs beside one over one position (both in turn,
CPU of this thread) and whether its states are the same bits, and from both the time of a frame's passes for drafts
that agree so often. What a draft costs itself, and its k further draws, is not in it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from worker.engine.interface import BuiltInSpeaker, CodecFrames, SpeechRequest, TokenSampling
from worker.engine.model.code_predictor import CodePredictor
from worker.engine.model.config import CodePredictorConfig, read_model_config
from worker.engine.model.layers import RotaryTable
from worker.engine.model.speech_modules import load_modules
from worker.engine.native import NativeEngine
from worker.engine.settings import NativeEngineSettings

ROOT = Path(__file__).resolve().parents[2]
SENTENCES = ROOT / "training/corpus/calibration_sentences.txt"
ROWS = (1, 2, 4, 8)
DRAFTED = (1, 3, 7)
AGREEMENTS = (0.05, 0.1, 0.3, 0.5, 0.7, 0.9)
ROW_STEP = 4  # of the CPU's frames: a row alone is a pass over four
SIMULATED_FRAMES = 200
MAX_FRAMES = 120
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
    arguments = parser.parse_args()
    load_before = os.getloadavg()[0]

    speech = made_codes(arguments.checkpoint, arguments.sentences, arguments.temperature)
    passes = measure_passes(arguments.checkpoint, arguments.repeats)

    print(
        json.dumps(
            {
                "checkpoint": arguments.checkpoint.name,
                "temperature": arguments.temperature,
                "frames": sum(map(len, speech)),
                "load_before": round(load_before, 2),
                "agreement_by_codebook": agreement(speech),
                "passes": [asdict(row) for row in passes],
            },
            indent=1,
        )
    )


def made_codes(checkpoint: Path, num_sentences: int, temperature: float | None) -> list[Codes]:
    """What the checkpoint says, (T, Q) for each sentence."""
    texts = SENTENCES.read_text(encoding="utf-8").splitlines()[:num_sentences]
    engine = NativeEngine(NativeEngineSettings(checkpoint, slots=16, live_slots=0, num_threads=1))
    try:
        sampling, speakers = engine.info.default_sampling, engine.info.speakers
        if temperature is not None:
            drawn = TokenSampling(temperature=temperature, top_k=20, top_p=1.0)
            sampling = replace(sampling, talker=drawn, predictor=drawn)
        futures = [
            engine.submit(
                SpeechRequest(
                    request_id=str(number),
                    text=text,
                    conditioning=BuiltInSpeaker(speakers[number % len(speakers)]),
                    sampling=sampling,
                    seed=number,
                    max_frames=MAX_FRAMES,
                )
            )
            for number, text in enumerate(texts)
        ]
        return [_codes(future.result().frames) for future in futures]
    finally:
        engine.close()


def _codes(frames: CodecFrames) -> Codes:
    return np.asarray(frames, np.int64)


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
