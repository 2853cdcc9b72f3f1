"""Who speaks each turn: a chain of turns, whose speakers are judged together. Pure.

A score is the sum of weights of what is true of a turn and a candidate, and of two or three turns in a row. The weights
were learnt from marked novels (`training/dialogue`). What comes out are probabilities, by the forward-backward
algorithm.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from reading.dialogue.scene import Scene, pair_features


def probabilities(scene: Scene, weights: Mapping[str, float]) -> list[list[float]]:
    """Of each candidate of each turn."""
    unary = [
        [math.exp(min(50.0, sum(weights.get(name, 0.0) for name in names))) for names in turn] for turn in scene.unary
    ]
    return _forward_backward(scene, unary, weights)


def _factor(names: Sequence[str], weights: Mapping[str, float]) -> float:
    return math.exp(sum(weights.get(name, 0.0) for name in names))


def _forward_backward(scene: Scene, unary: list[list[float]], weights: Mapping[str, float]) -> list[list[float]]:
    """States are pairs: the speaker of the turn before and of this one."""
    number = len(unary)
    if number == 1:
        return [_normalised(unary[0])]
    steps = [_Step(scene, index, unary[index], weights) for index in range(number)]
    pairs = [[[value * each for each in row] for value, row in zip(unary[0], steps[1].factors, strict=True)]]
    for step in steps[2:]:
        last = pairs[-1]
        sums = [sum(column) for column in zip(*last, strict=True)]
        now = [[total * factor for factor in row] for total, row in zip(sums, step.factors, strict=True)]
        for j, h in step.two_before:
            for i, row in enumerate(now):
                row[j] += step.more * last[h][i] * step.factors[i][j]
        pairs.append(_scaled(now))
    result: list[list[float]] = [[]] * number
    back = [[1.0] * len(unary[-1]) for _ in unary[-2]]
    for t in range(number - 1, 0, -1):
        both = [[a * b for a, b in zip(*rows, strict=True)] for rows in zip(pairs[t - 1], back, strict=True)]
        result[t] = _normalised([sum(column) for column in zip(*both, strict=True)])
        if t == 1:
            result[0] = _normalised([sum(row) for row in both])
            break
        back = _scaled(_earlier(steps[t], back, len(unary[t - 2])))
    return result


class _Step:
    """factors: of each speaker of the turn before and of this one. two_before: this one's, and who is the same person.

    more: what a speaker of two turns before gains.
    """

    def __init__(self, scene: Scene, index: int, unary: list[float], weights: Mapping[str, float]) -> None:
        again, two_before = pair_features(scene, index)
        factor = _factor(again, weights)
        self.more = _factor(two_before, weights) - 1.0
        self.factors = [unary[:] for _ in scene.candidates[index - 1]] if index else []
        for j, i in _same(scene, index, 1):
            self.factors[i][j] *= factor
        self.two_before = _same(scene, index, 2)


def _same(scene: Scene, index: int, before: int) -> list[tuple[int, int]]:
    """Places of one person among the candidates of a turn and of an earlier one."""
    if index < before:
        return []
    places = {candidate: at for at, candidate in enumerate(scene.candidates[index - before])}
    return [(j, places[each]) for j, each in enumerate(scene.candidates[index]) if each in places]


def _earlier(step: _Step, back: list[list[float]], num_before: int) -> list[list[float]]:
    values = [[a * b for a, b in zip(*rows, strict=True)] for rows in zip(step.factors, back, strict=True)]
    sums = [sum(row) for row in values]
    result = [sums[:] for _ in range(num_before)]
    for j, h in step.two_before:
        for i, row in enumerate(values):
            result[h][i] += step.more * row[j]
    return result


def _normalised(values: Sequence[float]) -> list[float]:
    total = sum(values) or 1.0
    return [value / total for value in values]


def _scaled(rows: list[list[float]]) -> list[list[float]]:
    most = max((value for row in rows for value in row), default=1.0) or 1.0
    return [[value / most for value in row] for row in rows]
