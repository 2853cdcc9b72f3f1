"""Learn what each sign of a speaker is worth, from the novels of the Project Dialogism Novel Corpus.

    python -m training.dialogue.learn CORPUS --out reading/dialogue/weights.json

It first cross-validates: weights learnt without some novels are tried on those. So it measures what a probability is
worth. The novels of `benchmarks.speech.speakers.UNSEEN` are never read. Two idle
cores need about ten minutes.
"""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import torch

from training.dialogue.chain import batches, learnt, marginals, number_of
from training.dialogue.novels import Example, Marked, development_novels, read_marked
from training.steps import run_step, step_parser

logger = logging.getLogger(__name__)

FOLDS = 3
PENALTY = 2.0
MOST_STEPS = 100
LEAST_WEIGHT = 0.03
"""Smaller ones are left out of the file."""

KNOTS = (0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.94, 0.97, 0.985, 0.993, 0.997, 0.999, 1.0)
"""Probabilities at which their worth is measured."""

SURE = 0.94
"""A probability of the chain. Its worth is 0.88, from which `rhapsode cast` is sure."""
LEAST_LINES = 20
"""A level of the curve that fewer lines show is left out."""

Judged = tuple[str, float, bool, str, bool]
"""A line: its novel, the probability of its speaker, whether that is right, its kind, and whether it could be right."""


def learn(novels: Sequence[Marked]) -> tuple[dict[str, int], torch.Tensor]:
    scenes = [scene for novel in novels for scene in novel.scenes]
    numbers = number_of(scenes)
    batched = [batch for _, batch in batches(scenes, numbers)]
    return numbers, learnt(batched, len(numbers), PENALTY, MOST_STEPS)


def judged(novel: Marked, numbers: dict[str, int], weights: torch.Tensor) -> Iterator[Judged]:
    for indices, batch in batches(novel.scenes, numbers):
        for at, chances in zip(indices, marginals(batch, weights), strict=True):
            for turn, each in zip(novel.scenes[at], chances, strict=False):
                yield from _judged(novel.name, turn, each[: len(turn.candidates)])


def _judged(name: str, turn: Example, chances: torch.Tensor) -> Iterator[Judged]:
    best = int(chances.argmax())
    for speaker, kind in turn.lines:
        yield name, float(chances[best]), turn.meant[best] == speaker, kind, speaker in turn.meant


def _fold(novels: Sequence[Marked], fold: int) -> list[Judged]:
    torch.set_num_threads(1)
    numbers, weights = learn([novel for at, novel in enumerate(novels) if at % FOLDS != fold])
    return [each for novel in novels[fold::FOLDS] for each in judged(novel, numbers, weights)]


def calibration(found: Sequence[Judged]) -> list[tuple[float, float]]:
    """Probabilities of the chain and how often they were right: the nearest rising curve (isotonic regression)."""
    blocks: list[tuple[int, float, float]] = []
    for probability, wrong in sorted((each[1], not each[2]) for each in found):
        blocks.append((1, probability, float(not wrong)))
        while len(blocks) > 1 and blocks[-2][2] >= blocks[-1][2]:
            (n, p, r), (m, q, s) = blocks[-2:]
            blocks[-2:] = [(n + m, (n * p + m * q) / (n + m), (n * r + m * s) / (n + m))]
    large = [each for each in blocks if each[0] >= LEAST_LINES]
    rights = np.interp(KNOTS, [p for _, p, _ in large], [r for _, _, r in large])
    return [(knot, round(float(right), 3)) for knot, right in zip(KNOTS, rights, strict=True)]


def report(found: Sequence[Judged]) -> None:
    groups: dict[str, list[Judged]] = defaultdict(list)
    for each in found:
        for group in (each[0], each[3], "all"):
            groups[group].append(each)
    for group, lines in groups.items():
        right, possible = sum(each[2] for each in lines), sum(each[4] for each in lines)
        sure = [each[2] for each in lines if each[1] >= SURE]
        logger.info(
            "%-30s %6d lines %.1f %% right, %.1f %% possible; %.1f %% sure, %.1f %% of these right",
            *(group, len(lines), 100 * right / len(lines), 100 * possible / len(lines)),
            *(100 * len(sure) / len(lines), 100 * sum(sure) / max(1, len(sure))),
        )


def written(numbers: dict[str, int], weights: torch.Tensor, curve: Sequence[tuple[float, float]]) -> str:
    """The file that `reading.dialogue.attribution` reads."""
    values = {name: round(float(weights[at]), 2) for name, at in numbers.items()}
    large = {name: value for name, value in values.items() if abs(value) >= LEAST_WEIGHT}
    return json.dumps({"calibration": curve, "weights": large}, indent=0) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = step_parser(__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--out", type=Path, help="the file of weights to write")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    with ProcessPoolExecutor() as pool:
        novels = list(pool.map(read_marked, development_novels(options.corpus)))
        folds = [pool.submit(_fold, novels, fold) for fold in range(FOLDS)]
        final = pool.submit(learn, novels) if options.out else None
        found = [each for fold in folds for each in fold.result()]
        report(found)
        if final is not None:
            options.out.write_text(written(*final.result(), calibration(found)), "utf-8")


if __name__ == "__main__":
    run_step(main)
