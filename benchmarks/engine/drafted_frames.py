"""What passes over several positions would make of a frame on a CUDA device, with random weights of published sizes.

Measured, each in a CUDA graph: a pass over one position as the engine makes it, passes over several with the products
of few and of some rows, whether their logits are the bits of single passes, and the whole frame. Computed from these: a
frame with a draft that agrees with a set probability. In no figure: what the draft costs, the comparison of its codes
with the drawn ones, rows that stand at different codebooks, and a graph whose number of passes depends on them.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from benchmarks.engine.drafted_passes import FIRST_POSITIONS, DraftedPasses, FrameMemory, Products
from benchmarks.engine.talker_frame import FRAME_S, SIZES, random_weights
from benchmarks.engine.talker_frame import measure as measure_frames
from worker.engine.cuda.slot_state import SlotState
from worker.engine.cuda.talker.frame_step import PredictorWeights
from worker.engine.requests.request_state import RowEnd
from worker.engine.settings import Precision

_POSITION, _CAPACITY, _FRAME_REPEATS = 190, 512, 40
_GRAPH_REPEATS = 25
_COMPARED_STARTS = (2, 7)
_SEED = 11


class Timer(Protocol):
    """Microseconds of a call, median of several."""

    def __call__(self, run: Callable[[], object]) -> float: ...


@dataclass(frozen=True, slots=True)
class PassFigures:
    """microseconds: of a pass over drafted + 1 positions with its draws; `drafted` 0: of one by the engine.

    same_bits: of the logits, as those of single passes with the same products. as_engine: as those of the engine's.
    """

    rows: int
    drafted: int
    products: str
    microseconds: float
    cost: float
    same_bits: bool
    as_engine: bool


@dataclass(frozen=True, slots=True)
class FrameFigures:
    """Of one size, rows, and agreement: with the number of drafted codes and the products that make it shortest.

    same_bits: of these passes; among those that have not the bits of single ones only where none has.
    """

    size: str
    rows: int
    agreement: float
    drafted: int
    products: str
    same_bits: bool
    frame_ms: float
    plain_frame_ms: float
    audio_s_per_s: float
    plain_audio_s_per_s: float


class MeanPasses(Protocol):
    def __call__(self, num_codes: int, drafted: int, share: float, rows: int) -> float:
        """Of a frame, until the slowest of the rows has its codes."""
        ...


def random_rows(weights: PredictorWeights, num_rows: int) -> SlotState:
    """Drawing at temperature 0.9 among the fifty likeliest."""
    num_lanes, width = weights.heads.shape[1:]
    state = SlotState.allocate(num_rows, 8, num_lanes, width, weights.heads.dtype, weights.heads.device)
    state.status[:num_rows] = int(RowEnd.RUNNING)
    state.seed[:num_rows] = torch.arange(num_rows, device=weights.heads.device) * 7919 + _SEED
    state.predictor.inverse_temperature.fill_(1 / 0.9)
    state.predictor.noise_scale.fill_(1.0)
    state.predictor.top_k.fill_(50)
    return state


@torch.inference_mode()
def measure_passes(
    weights: PredictorWeights, rows: Sequence[int], drafted: Sequence[int], timer: Timer
) -> Iterator[PassFigures]:
    num_codebooks = weights.heads.shape[0] + 1
    positions = range(FIRST_POSITIONS, num_codebooks)
    for num_rows in rows:
        own = Products.of_engine(num_rows)
        plain = _passes(weights, num_rows, own)
        single_us = timer(lambda passes=plain: [passes.single(at) for at in positions]) / len(positions)
        yield PassFigures(num_rows, 0, own.value, round(single_us, 2), 1.0, same_bits=True, as_engine=True)
        for products in Products:
            for count in (number + 1 for number in drafted if number + 1 <= len(positions)):
                if not products.takes(num_rows * count) or not products.takes(num_rows * FIRST_POSITIONS):
                    continue
                passes = _passes(weights, num_rows, products)
                starts = range(FIRST_POSITIONS, num_codebooks - count + 1, count)
                several_us = timer(
                    lambda passes=passes, starts=starts, count=count: [passes.several(at, count) for at in starts]
                )
                cost_us = several_us / len(starts)
                yield PassFigures(
                    num_rows,
                    count - 1,
                    products.value,
                    round(cost_us, 2),
                    round(cost_us / single_us, 3),
                    same_bits=_equal_bits(weights, num_rows, count, products, products),
                    as_engine=_equal_bits(weights, num_rows, count, products, own),
                )


def _passes(weights: PredictorWeights, num_rows: int, products: Products) -> DraftedPasses:
    memory = _random_frame(weights, num_rows)
    return DraftedPasses(weights, random_rows(weights, num_rows), memory, products)


def _random_frame(weights: PredictorWeights, num_rows: int) -> FrameMemory:
    device, num_lanes = weights.heads.device, weights.heads.shape[1]
    memory = FrameMemory.allocate(weights, num_rows)
    generator = torch.Generator(device).manual_seed(_SEED)
    memory.codes.copy_(torch.randint(0, num_lanes, memory.codes.shape, generator=generator, device=device))
    return memory


def _equal_bits(weights: PredictorWeights, num_rows: int, count: int, several: Products, single: Products) -> bool:
    """Logits behind the same codes, and the codes drawn from them. Each has its own frame from the first pass on."""
    state, hidden = random_rows(weights, num_rows), _random_hidden(weights, num_rows)
    num_codebooks = weights.heads.shape[0] + 1
    for start in (at for at in _COMPARED_STARTS if at + count <= num_codebooks):
        singly, together = (_random_frame(weights, num_rows) for _ in range(2))
        one_by_one = DraftedPasses(weights, state, singly, single)
        at_once = DraftedPasses(weights, state, together, several)
        for passes in (one_by_one, at_once):
            passes.first_pair(hidden)
            for position in range(FIRST_POSITIONS, start):
                passes.single(position)
        expected = [one_by_one.single(position) for position in range(start, start + count)]
        found = at_once.several(start, count)
        if not torch.equal(torch.stack(found), torch.stack(expected)) or not torch.equal(together.drawn, singly.drawn):
            return False
    return True


def _random_hidden(weights: PredictorWeights, num_rows: int) -> Tensor:
    heads = weights.heads
    generator = torch.Generator(heads.device).manual_seed(_SEED)
    return torch.randn(num_rows, heads.shape[2], generator=generator, device=heads.device).to(heads.dtype)


def graph_us(run: Callable[[], object]) -> float:
    """Of a replay. Kernels compile before the capture."""
    run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kept = run()
    times_ms: list[float] = []
    for _ in range(_GRAPH_REPEATS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        times_ms.append(start.elapsed_time(end))
    del kept
    return statistics.median(times_ms[3:]) * 1e3


def host_read_us(weights: PredictorWeights, rows: int) -> float:
    """What a pass costs more when the host reads what it has drawn before it launches the next."""
    memory = _random_frame(weights, rows)
    passes = DraftedPasses(weights, random_rows(weights, rows), memory, Products.of_engine(rows))
    with torch.inference_mode():
        alone_us = graph_us(lambda: passes.single(FIRST_POSITIONS))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            kept = passes.single(FIRST_POSITIONS)
        heard = torch.empty(memory.drawn.shape, dtype=memory.drawn.dtype).pin_memory()

        def replays() -> None:
            graph.replay()
            heard.copy_(memory.drawn, non_blocking=True)
            torch.cuda.current_stream().synchronize()

        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        replays()
        start.record()
        for _ in range(_GRAPH_REPEATS):
            replays()
        end.record()
        end.synchronize()
        del kept
        return start.elapsed_time(end) * 1e3 / _GRAPH_REPEATS - alone_us


def frames_by_agreement(
    size: str,
    frame_ms: dict[int, float],
    passes: Sequence[PassFigures],
    agreements: Sequence[float],
    mean_passes: MeanPasses,
    num_codebooks: int,
) -> Iterator[FrameFigures]:
    """frame_ms: the engine's, by rows."""
    num_codes = num_codebooks - FIRST_POSITIONS
    for rows, plain_ms in frame_ms.items():
        of_rows = [one for one in passes if one.rows == rows]
        single_us = next(one.microseconds for one in of_rows if not one.drafted)
        drafting = [one for one in of_rows if one.drafted]
        tried = [one for one in drafting if one.same_bits] or drafting
        for agreement in agreements:

            def passes_us(one: PassFigures, agreement: float = agreement, rows: int = rows) -> float:
                return one.microseconds * mean_passes(num_codes, one.drafted, agreement, rows)

            best = min(tried, key=passes_us)
            drafted_ms = plain_ms + (passes_us(best) - num_codes * single_us) / 1e3
            yield FrameFigures(
                size,
                rows,
                agreement,
                best.drafted,
                best.products,
                best.same_bits,
                round(drafted_ms, 3),
                plain_ms,
                round(rows * FRAME_S / drafted_ms * 1e3, 1),
                round(rows * FRAME_S / plain_ms * 1e3, 1),
            )


def engine_frames_ms(size: str, rows: Sequence[int], device: torch.device) -> tuple[dict[int, float], PredictorWeights]:
    """The engine's frame by rows, and the predictor that it was made with, which is as large in every size."""
    weights = random_weights(SIZES[size], _CAPACITY, torch.bfloat16, device)
    options = argparse.Namespace(
        rows=list(rows),
        capacity=_CAPACITY,
        kv_precision=Precision.BFLOAT16,
        position=_POSITION,
        repeats=_FRAME_REPEATS,
        profile=set(),
    )
    measured = {int(row["rows"]): float(row["frame_ms"]) for row in measure_frames(weights, options)}
    return dict(sorted(measured.items())), weights.predictor
