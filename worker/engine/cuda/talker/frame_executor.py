"""Frame steps as they are launched: many ahead of their results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from worker.engine.cuda.talker.capture_plan import CapturePlan
from worker.engine.cuda.talker.decode.operations import Operations
from worker.engine.cuda.talker.frame_step import FrameStep

Packet = NDArray[np.int16]
"""What a step says about its n rows, (n, Q + 1): the frame's codes, then a `RowEnd`."""


class LaunchedFrame(Protocol):
    def is_done(self) -> bool:
        """Whether `wait` would return at once."""
        ...

    def wait(self) -> Packet:
        """Borrowed: valid until as many steps are launched as the executor allows to be in flight."""
        ...


class FrameExecutor(Protocol):
    def launch(self, slots: Sequence[int]) -> LaunchedFrame:
        """One frame of every slot named; returns before it is made. Nothing fails here that a request could cause."""
        ...


class GraphedFrames:
    """One CUDA graph per row bucket, captured at construction; a capture that fails is an error of the start.

    Slots go in and packets come out through pinned memory: a launch copies, replays and copies, and waits for nothing.
    """

    def __init__(
        self,
        step: FrameStep,
        plan: CapturePlan,
        operations_for: Callable[[int], Operations],
        scratch_slot: int,
        max_in_flight: int,
        stream: torch.cuda.Stream,
    ) -> None:
        """operations_for: by the rows of a bucket."""
        places, width = max_in_flight + 1, step.packet_width
        self._plan = plan
        self._scratch_slot = scratch_slot
        self._stream = stream
        self._slots = torch.full((plan.max_rows,), scratch_slot, dtype=torch.int32, device=step.device)
        self._slots_out = torch.full((places, plan.max_rows), scratch_slot, dtype=torch.int32).pin_memory()
        self._packets_in = torch.zeros(places, plan.max_rows, width, dtype=torch.int16).pin_memory()
        self._copied = [torch.cuda.Event(blocking=True) for _ in range(places)]
        self._next = 0
        self._graphs = self._capture(step, operations_for)

    @torch.inference_mode()
    def launch(self, slots: Sequence[int]) -> LaunchedFrame:
        place, num_rows = self._next, len(slots)
        self._next = (place + 1) % len(self._copied)
        bucket = self._plan.rows_for(num_rows)
        outgoing = self._slots_out[place].numpy()
        outgoing[:num_rows] = slots
        outgoing[num_rows:] = self._scratch_slot
        graph, packet = self._graphs[bucket]
        with torch.cuda.stream(self._stream):
            self._slots.copy_(self._slots_out[place], non_blocking=True)
            graph.replay()
            self._packets_in[place, :bucket].copy_(packet, non_blocking=True)
            self._copied[place].record(self._stream)
        return _Copied(self._copied[place], self._packets_in[place, :num_rows].numpy())

    @torch.inference_mode()
    def _capture(
        self, step: FrameStep, operations_for: Callable[[int], Operations]
    ) -> dict[int, tuple[torch.cuda.CUDAGraph, Tensor]]:
        """Largest first, so that the smaller graphs find their memory in the pool of the largest."""
        graphs: dict[int, tuple[torch.cuda.CUDAGraph, Tensor]] = {}
        pool = torch.cuda.graph_pool_handle()
        for bucket in reversed(self._plan.row_buckets):
            rows, operations = self._slots[:bucket], operations_for(bucket)
            with torch.cuda.stream(self._stream):
                # Kernels compile and libraries choose theirs outside of the capture. All rows are scratch.
                step.run(rows, operations)
            self._stream.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=pool, stream=self._stream):
                packet = step.run(rows, operations)
            graphs[bucket] = (graph, packet)
        return graphs


class _Copied:
    def __init__(self, copied: torch.cuda.Event, packet: Packet) -> None:
        self._copied = copied
        self._packet = packet

    def is_done(self) -> bool:
        return self._copied.query()

    def wait(self) -> Packet:
        self._copied.synchronize()
        return self._packet
