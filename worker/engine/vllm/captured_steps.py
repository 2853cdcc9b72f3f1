"""The arena's step as CUDA graphs, one for each number of rows: it launches hundreds of kernels, which takes far longer
than they run."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

Step = Callable[[Tensor, Tensor, Tensor], Tensor]
"""hidden (B, hidden), ids and positions int64 (B,) -> what it says of each row, (B, …)."""

# Twice as many each time, but never more than so many more.
_WIDEST_STEP = 32


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
        self._graphs: dict[int, tuple[torch.cuda.CUDAGraph, Tensor]] = {}

    def capture_all(self) -> None:
        """Largest first, so that smaller graphs find their memory in the pool of the largest."""
        for num_rows in reversed(self._ladder):
            self._graph(num_rows)

    def run(self, hidden: Tensor, ids: Tensor, positions: Tensor) -> Tensor:
        """As the step. The result is overwritten by the next call."""
        num_rows = ids.shape[0]
        wide = next(rows for rows in self._ladder if rows >= num_rows)
        graph, said = self._graph(wide)
        self._hidden[:num_rows] = hidden
        self._ids[:num_rows] = ids
        self._ids[num_rows:wide] = self._no_slot
        self._positions[:num_rows] = positions
        graph.replay()
        return said[:num_rows]

    def _graph(self, num_rows: int) -> tuple[torch.cuda.CUDAGraph, Tensor]:
        if num_rows not in self._graphs:
            self._graphs[num_rows] = self._captured(num_rows)
        return self._graphs[num_rows]

    def _captured(self, num_rows: int) -> tuple[torch.cuda.CUDAGraph, Tensor]:
        """All rows are of no request meanwhile, so the run before the capture, in which libraries choose their kernels,
        leaves no trace."""
        self._ids.fill_(self._no_slot)
        inputs = (self._hidden[:num_rows], self._ids[:num_rows], self._positions[:num_rows])
        self._stream.wait_stream(torch.cuda.current_stream(self._ids.device))
        with torch.cuda.stream(self._stream):
            self._step(*inputs)
        self._stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        # The codec may be working on its own thread, which a global capture would forbid.
        with torch.cuda.graph(graph, pool=self._pool, stream=self._stream, capture_error_mode="thread_local"):
            said = self._step(*inputs)
        return graph, said


def row_ladder(max_rows: int) -> tuple[int, ...]:
    """Numbers of rows that steps are filled up to, and the most there can be."""
    ladder: list[int] = []
    rows = 1
    while rows < max_rows:
        ladder.append(rows)
        rows += min(rows, _WIDEST_STEP)
    return (*ladder, max_rows)
