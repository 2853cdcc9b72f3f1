"""Learn what each sign of a speaker is worth, from the novels of the Project Dialogism Novel Corpus.

    python -m training.dialogue.learn CORPUS --out reading/dialogue/weights.py

Without --out it cross-validates: weights learnt without some novels are tried on those. The novels of
`benchmarks.speech.speakers.UNSEEN` are never read.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import torch

from reading.dialogue.weights import WEIGHTS
from training.dialogue.chain import batches, learnt, marginals, number_of
from training.dialogue.novels import Example, Marked, development_novels, read_marked

FOLDS = 6
PENALTY = 0.5
MOST_STEPS = 80
SURE = 0.95

Judged = tuple[str, float, bool, str, bool]
"""A line: its novel, the probability of its speaker, whether that is right, its kind, and whether it could be right."""


def learn(novels: Sequence[Marked]) -> tuple[dict[str, int], torch.Tensor]:
    scenes = [scene for novel in novels for scene in novel.scenes]
    numbers = number_of(scenes)
    batched = [batch for _, batch in batches(scenes, numbers)]
    start = torch.zeros(len(numbers) + 1, dtype=torch.float64)
    for name, at in numbers.items():
        start[at] = WEIGHTS.get(name, 0.0)
    return numbers, learnt(batched, start, PENALTY, MOST_STEPS)


def judged(novel: Marked, numbers: dict[str, int], weights: torch.Tensor) -> Iterator[Judged]:
    weights[0] = 0
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


def report(found: Sequence[Judged]) -> None:
    groups: dict[str, list[Judged]] = defaultdict(list)
    for each in found:
        for group in (each[0], each[3], "all"):
            groups[group].append(each)
    for group, lines in groups.items():
        right, possible = sum(each[2] for each in lines), sum(each[4] for each in lines)
        sure = [each[2] for each in lines if each[1] >= SURE]
        print(
            f"{group:30} {len(lines):6} lines {right / len(lines):6.1%} right {possible / len(lines):6.1%} possible "
            f"{len(sure) / len(lines):6.1%} sure {sum(sure) / max(1, len(sure)):6.1%} of these right"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    corpus: Path = parser.parse_args().corpus
    with ProcessPoolExecutor() as pool:
        novels = list(pool.map(read_marked, development_novels(corpus)))
        found = [each for fold in pool.map(_fold, [novels] * FOLDS, range(FOLDS)) for each in fold]
    report(found)


if __name__ == "__main__":
    main()
