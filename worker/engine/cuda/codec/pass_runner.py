"""Runs codec passes: rows of frames in, samples out, captured into CUDA graphs or kernel by kernel.

Two passes can be under way: while the device works on one, the host collects the other's samples. What a pass reads
and writes on the device belongs to all passes, which run one behind the other on one CUDA stream.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from worker.engine.cuda.codec.codec_pass import CodecPass, PassInputs, pasts_of, samples_per_frame
from worker.engine.cuda.codec.convolution import CausalConvolution
from worker.engine.cuda.codec.plan import CodecPlan, PassShape
from worker.engine.cuda.codec.stream_state import ORIGIN_SLOT, StateArena, workspace_size
from worker.engine.cuda.codec.weights import CodecWeights
from worker.engine.interface import CodecFrames, Pcm

logger = logging.getLogger(__name__)

PASSES_UNDER_WAY = 2


@dataclass(frozen=True, slots=True)
class PassRow:
    """frames (n, Q), n up to the pass's number of frames; slots of the states to go on from and to leave."""

    frames: CodecFrames
    read_slot: int
    write_slot: int


@dataclass(slots=True)
class PassCounters:
    """Passes and frames since start; `fallbacks` are the passes that ran outside any graph."""

    graph_hits: int = 0
    fallbacks: int = 0
    frames: int = 0
    padded_frames: int = 0
    """Frames of the shapes that ran, useful or not."""


class PendingPass(Protocol):
    """A pass under way."""

    def samples(self) -> list[Pcm]:
        """The samples of each row's frames, in the order of the rows; waits for the device."""
        ...


class Passes(Protocol):
    """Belongs to one thread. At most `PASSES_UNDER_WAY` passes are launched and not collected."""

    @property
    def counters(self) -> PassCounters: ...

    @property
    def stream_slots(self) -> range:
        """Slots for the states of streams."""
        ...

    @property
    def scratch_slot(self) -> int:
        """Where a state goes that no pass will need."""
        ...

    def launch(self, shape: PassShape, rows: Sequence[PassRow]) -> PendingPass: ...


class DevicePasses:
    """Passes kernel by kernel, on any device that the kernels run on. The results are there when `launch` returns."""

    def __init__(self, weights: CodecWeights, plan: CodecPlan, convolve: CausalConvolution) -> None:
        self.counters = PassCounters()
        self.device = weights.frame_table.device
        self._weights = weights
        dtype = weights.before.taps.dtype
        pasts = pasts_of(weights)
        largest = max(workspace_size(pasts, shape.num_streams, shape.num_frames) for shape in plan.shapes)
        self._arena = StateArena(pasts, plan.num_streams, dtype, self.device)
        self._workspace = torch.zeros(largest, dtype=dtype, device=self.device)
        self._by_shape = {
            shape: CodecPass(weights, convolve, self._arena, self._workspace, shape.num_streams, shape.num_frames)
            for shape in plan.shapes
        }
        self._samples_per_frame = samples_per_frame(weights)
        self._num_codebooks = weights.frame_table.shape[0]
        self._inputs = torch.zeros(
            max(self.input_size(shape) for shape in plan.shapes), dtype=torch.int32, device=self.device
        )
        self._samples = torch.zeros(
            plan.largest.size * self._samples_per_frame, dtype=torch.float32, device=self.device
        )

    @property
    def stream_slots(self) -> range:
        return self._arena.stream_slots

    @property
    def scratch_slot(self) -> int:
        return self._arena.scratch_slot

    @property
    def memory_bytes(self) -> int:
        """Of states, buffers, inputs and samples; weights apart."""
        parts = (self._arena.states, self._workspace, self._inputs, self._samples)
        return sum(part.numel() * part.element_size() for part in parts)

    def launch(self, shape: PassShape, rows: Sequence[PassRow]) -> PendingPass:
        self.inputs_of(shape).copy_(torch.from_numpy(self.packed(shape, rows)))
        self.run(shape)
        self.count(shape, rows, captured=False)
        samples = self.samples_of(shape).cpu().numpy()
        return _Collected(row_samples(samples, rows, self._samples_per_frame))

    def run(self, shape: PassShape) -> None:
        """The kernels of one pass over what stands in its inputs."""
        self._by_shape[shape].run(self._pass_inputs(shape), self.samples_of(shape))

    def input_size(self, shape: PassShape) -> int:
        return 3 * shape.num_streams + shape.size * self._num_codebooks

    def inputs_of(self, shape: PassShape) -> Tensor:
        """int32: lengths, slots to read, slots to write, codes."""
        return self._inputs[: self.input_size(shape)]

    def samples_of(self, shape: PassShape) -> Tensor:
        """float32 (B, T · samples_per_frame)."""
        return self._samples[: shape.size * self._samples_per_frame].view(shape.num_streams, -1)

    def packed(self, shape: PassShape, rows: Sequence[PassRow]) -> np.ndarray:
        """The inputs of a pass on the host. Rows that are missing begin nowhere, end nowhere and have no frames."""
        packed = np.zeros(self.input_size(shape), dtype=np.int32)
        self.pack(packed, shape, rows)
        return packed

    def pack(self, packed: np.ndarray, shape: PassShape, rows: Sequence[PassRow]) -> None:
        lengths, reads, writes = packed[: 3 * shape.num_streams].reshape(3, -1)
        codes = packed[3 * shape.num_streams :].reshape(shape.num_streams, shape.num_frames, self._num_codebooks)
        lengths[:], reads[:], writes[:] = 0, ORIGIN_SLOT, self.scratch_slot
        for number, row in enumerate(rows):
            lengths[number], reads[number], writes[number] = len(row.frames), row.read_slot, row.write_slot
            codes[number, : len(row.frames)] = row.frames

    def count(self, shape: PassShape, rows: Sequence[PassRow], *, captured: bool) -> None:
        self.counters.frames += sum(len(row.frames) for row in rows)
        self.counters.padded_frames += shape.size
        if captured:
            self.counters.graph_hits += 1
            return
        self.counters.fallbacks += 1
        if self.counters.fallbacks == 1:
            logger.warning("codec passes run outside the captured graphs, first at %s", shape)

    def _pass_inputs(self, shape: PassShape) -> PassInputs:
        inputs = self.inputs_of(shape)
        lengths, reads, writes = inputs[: 3 * shape.num_streams].view(3, -1)
        codes = inputs[3 * shape.num_streams :].view(shape.num_streams, shape.num_frames, self._num_codebooks)
        return PassInputs(codes, lengths, reads, writes)


def row_samples(samples: np.ndarray, rows: Sequence[PassRow], samples_per_frame: int) -> list[Pcm]:
    """Copies of what the rows' frames became. samples: (B, T · samples_per_frame)."""
    return [samples[number, : len(row.frames) * samples_per_frame].copy() for number, row in enumerate(rows)]


class _Collected:
    def __init__(self, samples: list[Pcm]) -> None:
        self._row_samples = samples

    def samples(self) -> list[Pcm]:
        return self._row_samples
