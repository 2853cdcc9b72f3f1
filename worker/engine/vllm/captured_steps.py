"""The arena's step as CUDA graphs: fifteen passes of the code predictor are thousands of small kernels, which take far
longer to launch than to run.

A graph has one number of rows and one way to draw. Those of the checkpoint's own sampling are captured at start, others
when the first request wants them.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from worker.engine.requests.sampling import Argmax, Draw, TopK, TopP
from worker.engine.stages.frame import FrameDraws

Step = Callable[[Tensor, Tensor, Tensor, FrameDraws], Tensor]
"""hidden (B, hidden), ids and positions int64 (B,), how they are drawn -> next tokens int64 (B,)."""

_FEWEST_ROWS = 4
# Widths of a top-k with separate graphs: the usual ones, and the whole vocabulary. A wider one than any row asks for
# draws the same, and without classes there would be as many graphs as numbers.
_TOP_K_WIDTHS = (64, 4096)


class CapturedSteps:
    """Single-threaded; call under inference mode, on the stream whose work the results are wanted by."""

    def __init__(self, step: Step, max_rows: int, hidden: Tensor, no_slot: int) -> None:
        """max_rows: no step has more. hidden: any tensor of the device and type of its input, (…, hidden). no_slot: the
        id of rows that only fill a step up."""
        device = hidden.device
        self._step = step
        self._no_slot = no_slot
        self._ladder = row_ladder(max_rows)
        self._hidden = torch.zeros(max_rows, hidden.shape[-1], dtype=hidden.dtype, device=device)
        self._ids = torch.full((max_rows,), no_slot, dtype=torch.int64, device=device)
        self._positions = torch.zeros(max_rows, dtype=torch.int64, device=device)
        self._stream = torch.cuda.Stream(device)
        self._pool = torch.cuda.graph_pool_handle()
        self._graphs: dict[tuple[int, FrameDraws], tuple[torch.cuda.CUDAGraph, Tensor]] = {}

    def capture_all(self, draws: FrameDraws) -> None:
        """Largest first, so that smaller graphs find their memory in the pool of the largest."""
        for num_rows in reversed(self._ladder):
            self._graph(num_rows, classed(draws))

    def run(self, hidden: Tensor, ids: Tensor, positions: Tensor, draws: FrameDraws) -> Tensor:
        """As the step. The result is overwritten by the next call."""
        num_rows = ids.shape[0]
        wide = next(rows for rows in self._ladder if rows >= num_rows)
        graph, tokens = self._graph(wide, classed(draws))
        self._hidden[:num_rows] = hidden
        self._ids[:num_rows] = ids
        self._ids[num_rows:wide] = self._no_slot
        self._positions[:num_rows] = positions
        graph.replay()
        return tokens[:num_rows]

    def _graph(self, num_rows: int, draws: FrameDraws) -> tuple[torch.cuda.CUDAGraph, Tensor]:
        known = self._graphs.get((num_rows, draws))
        if known is None:
            known = self._graphs[num_rows, draws] = self._captured(num_rows, draws)
        return known

    def _captured(self, num_rows: int, draws: FrameDraws) -> tuple[torch.cuda.CUDAGraph, Tensor]:
        """All rows are of no request meanwhile, so the run before the capture, in which libraries choose their kernels,
        leaves no trace."""
        self._ids.fill_(self._no_slot)
        inputs = (self._hidden[:num_rows], self._ids[:num_rows], self._positions[:num_rows], draws)
        self._stream.wait_stream(torch.cuda.current_stream(self._ids.device))
        with torch.cuda.stream(self._stream):
            self._step(*inputs)
        self._stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        # The codec may be working on its own thread, which a global capture would forbid.
        with torch.cuda.graph(graph, pool=self._pool, stream=self._stream, capture_error_mode="thread_local"):
            tokens = self._step(*inputs)
        return graph, tokens


def row_ladder(max_rows: int) -> tuple[int, ...]:
    """Numbers of rows that steps are filled up to: powers of two, and the most there can be."""
    ladder: list[int] = []
    rows = _FEWEST_ROWS
    while rows < max_rows:
        ladder.append(rows)
        rows *= 2
    return (*ladder, max_rows)


def classed(draws: FrameDraws) -> FrameDraws:
    """The graphs' draws that serve the rows that `draws` serves, with the same outcome."""
    return FrameDraws(_classed(draws.talker), _classed(draws.predictor))


def _classed(draw: Draw) -> Draw:
    match draw:
        case TopK(width):
            return TopK(next(one for one in _TOP_K_WIDTHS if one >= width))
        case Argmax() | TopP():
            return draw
