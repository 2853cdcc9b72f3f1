"""Codec passes as CUDA graphs, beside the talker: captured at start, replayed on a separate CUDA stream.

Kernels keep the priority of the stream that they are captured on. Below the talker's, a frame step never waits for a
pass: blocks of the talker's kernels go first wherever one of the codec's ends. Above it, first audio does not wait
for frames that no listener is short of yet.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from itertools import cycle

import torch

from worker.engine.cuda.codec.convolution import CausalConvolution
from worker.engine.cuda.codec.pass_runner import (
    PASSES_UNDER_WAY,
    DevicePasses,
    PassCounters,
    PassRow,
    PendingPass,
    row_samples,
)
from worker.engine.cuda.codec.plan import CodecPlan, PassShape
from worker.engine.cuda.codec.weights import CodecWeights
from worker.engine.interface import Pcm

logger = logging.getLogger(__name__)


class CapturedPasses:
    """Raises whatever CUDA raises when a pass cannot be captured: the engine does not start then."""

    def __init__(self, weights: CodecWeights, plan: CodecPlan, convolve: CausalConvolution, priority: int = 0) -> None:
        """priority: of the CUDA stream, lower goes first."""
        self._device = weights.frame_table.device
        self._stream = torch.cuda.Stream(self._device, priority=priority)
        with torch.cuda.stream(self._stream):
            self._passes = DevicePasses(weights, plan, convolve)
            self._graphs = self._capture(plan)
            largest = max(self._passes.input_size(shape) for shape in plan.shapes)
            size = self._passes.samples_of(plan.largest).numel()
            self._desks = cycle([_Desk(self._passes, largest, size) for _ in range(PASSES_UNDER_WAY)])
        self._stream.synchronize()

    @property
    def counters(self) -> PassCounters:
        return self._passes.counters

    @property
    def stream_slots(self) -> range:
        return self._passes.stream_slots

    @property
    def scratch_slot(self) -> int:
        return self._passes.scratch_slot

    @property
    def memory_bytes(self) -> int:
        return self._passes.memory_bytes

    def launch(self, shape: PassShape, rows: Sequence[PassRow]) -> PendingPass:
        graph = self._graphs.get(shape)
        desk = next(self._desks)
        with torch.cuda.stream(self._stream):
            desk.send(shape, rows)
            if graph is None:
                self._passes.run(shape)
            else:
                graph.replay()
            desk.fetch(shape)
        self._passes.count(shape, rows, captured=graph is not None)
        return desk

    def _capture(self, plan: CodecPlan) -> dict[PassShape, torch.cuda.CUDAGraph]:
        """Largest first, so that the smaller ones fit into the memory pool as it then is."""
        started_s = time.monotonic()
        pool = torch.cuda.graph_pool_handle()
        graphs: dict[PassShape, torch.cuda.CUDAGraph] = {}
        for shape in sorted(plan.shapes, key=lambda shape: -shape.size):
            self._passes.run(shape)  # compiles kernels and initialises libraries, which a capture must not see
            if shape not in plan.captured:
                continue
            self._stream.synchronize()
            graph = torch.cuda.CUDAGraph()
            graph.capture_begin(pool=pool, capture_error_mode="thread_local")
            try:
                self._passes.run(shape)
            finally:
                graph.capture_end()
            graphs[shape] = graph
        self._stream.synchronize()
        logger.info(
            "codec: %d of %d pass shapes captured in %.1f s, %.2f GiB of buffers and states",
            len(graphs),
            len(plan.shapes),
            time.monotonic() - started_s,
            self._passes.memory_bytes / 2**30,
        )
        return graphs


class _Desk:
    """Pinned memory of one pass under way: what it is sent with and what comes back."""

    def __init__(self, passes: DevicePasses, input_size: int, sample_count: int) -> None:
        self._passes = passes
        self._inputs = torch.zeros(input_size, dtype=torch.int32).pin_memory()
        self._samples = torch.zeros(sample_count, dtype=torch.float32).pin_memory()
        self._fetched = torch.cuda.Event()
        self._shape = PassShape(0, 0)
        self._rows: tuple[PassRow, ...] = ()

    def send(self, shape: PassShape, rows: Sequence[PassRow]) -> None:
        # What was sent from here before has been collected, so nothing reads these inputs any more.
        self._shape, self._rows = shape, tuple(rows)
        inputs = self._inputs[: self._passes.input_size(shape)]
        self._passes.pack(inputs.numpy(), shape, rows)
        self._passes.inputs_of(shape).copy_(inputs, non_blocking=True)

    def fetch(self, shape: PassShape) -> None:
        source = self._passes.samples_of(shape)
        self._samples[: source.numel()].view(source.shape).copy_(source, non_blocking=True)
        self._fetched.record()

    def samples(self) -> list[Pcm]:
        self._fetched.synchronize()
        size = self._passes.samples_of(self._shape).numel()
        samples = self._samples[:size].view(self._shape.num_streams, -1).numpy()
        return row_samples(samples, self._rows, samples.shape[1] // self._shape.num_frames)
