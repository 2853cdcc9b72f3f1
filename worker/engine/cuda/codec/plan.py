"""Which shapes of pass exist, and which of them serves best what is waiting. Pure: no tensors, no clock.

A pass takes up to `num_frames` frames of each of up to `num_streams` utterances. Decoding is exact across passes, so an
utterance longer than a pass simply comes back for the rest, and nothing is too long for the plan.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, product

_FRAMES = (1, 2, 4, 8, *range(25, 301, 25))
_STREAMS = (1, 2, 4, 8, 16, 32, 64, 128)
_MAX_FRAMES_PER_PASS = 1_600

# A pass takes as long as if it had this many frames more: its small layers and its launches. One H200, float16.
_OVERHEAD_FRAMES = 35


@dataclass(frozen=True, slots=True, order=True)
class PassShape:
    num_streams: int
    num_frames: int

    @property
    def size(self) -> int:
        return self.num_streams * self.num_frames


@dataclass(frozen=True, slots=True)
class CodecPlan:
    """shapes: those that may run. captured: those of them that are CUDA graphs; the others run kernel by kernel.

    num_streams: utterances that can be in the middle of being decoded, each of which holds a state.
    """

    shapes: tuple[PassShape, ...]
    captured: frozenset[PassShape]
    num_streams: int

    @property
    def largest(self) -> PassShape:
        return max(self.shapes, key=lambda shape: shape.size)


@dataclass(frozen=True, slots=True)
class PassChoice:
    """members: numbers of the chosen utterances; each gives as many frames as it has, at most the shape's."""

    shape: PassShape
    members: tuple[int, ...]


def serving_plan(num_streams: int) -> CodecPlan:
    """What occurs: chunks of running streams, and whole utterances in batches. Everything is captured."""
    every = (PassShape(streams, frames) for frames, streams in product(_FRAMES, _STREAMS))
    shapes = tuple(shape for shape in every if shape.size <= _MAX_FRAMES_PER_PASS)
    return CodecPlan(shapes, frozenset(shapes), num_streams)


def keeping(plan: CodecPlan, may_run: Callable[[PassShape], bool]) -> CodecPlan:
    """The plan without the passes that may not run; the smallest shape stays in any case."""
    smallest = min(plan.shapes, key=lambda shape: shape.size)
    shapes = tuple(shape for shape in plan.shapes if may_run(shape) or shape == smallest)
    return CodecPlan(shapes, plan.captured.intersection(shapes), plan.num_streams)


def choose_pass(plan: CodecPlan, waiting: Sequence[int]) -> PassChoice:
    """The pass with the most frames for its time among those that serve the first of `waiting`.

    waiting: frames that each utterance still has, at least one each, the one that has waited longest first.
    """
    oldest = waiting[0]
    others = sorted(range(1, len(waiting)), key=lambda number: -waiting[number])
    lengths = [waiting[number] for number in others]
    sums = [0, *accumulate(lengths)]

    def useful(shape: PassShape) -> int:
        count = min(shape.num_streams - 1, len(lengths))
        whole = bisect_left(lengths, -shape.num_frames + 1, hi=count, key=lambda length: -length)
        return min(oldest, shape.num_frames) + whole * shape.num_frames + sums[count] - sums[whole]

    def worth(shape: PassShape) -> tuple[float, int]:
        return useful(shape) / (shape.size + _OVERHEAD_FRAMES), -shape.size

    best = max(plan.shapes, key=worth)
    return PassChoice(best, (0, *others[: best.num_streams - 1]))
