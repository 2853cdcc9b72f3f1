"""How much of a device the codec takes, and the plan that keeps to its part. Pure: nothing here reads the device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from worker.engine.cuda.codec.plan import CodecPlan, PassShape, keeping, serving_plan

# Of the device's whole memory. All passes fit into this part of 80 GB; on a smaller device the largest are left out,
# which costs little: passes of 600 frames run at 97 % of the speed of those of 1,600 on an H200.
_SHARE_OF_DEVICE = 1 / 8
# Of that: the states of utterances that are in the middle of being decoded. The rest is for the largest pass.
_SHARE_FOR_STATES = 1 / 4
# 2.6 MB each with the published codec.
_MOST_STREAMS, _LEAST_STREAMS = 256, 16
# A residual unit's input, what is between its convolutions, and its output.
_WIDEST_AT_ONCE = 3
_SAMPLE_BYTES = 4


class LayerPast(Protocol):
    """What one layer looks back to: `rows` rows of `width` numbers. A frame is `rows_per_frame` rows at that layer."""

    @property
    def rows(self) -> int: ...

    @property
    def width(self) -> int: ...

    @property
    def rows_per_frame(self) -> int: ...


@dataclass(frozen=True, slots=True)
class CodecMemory:
    """pasts: of all layers, the samples' last. itemsize: bytes of a number between the layers."""

    pasts: Sequence[LayerPast]
    itemsize: int

    def plan_on(self, total_bytes: int) -> CodecPlan:
        """The plan of a codec on a device with so much memory in all: everything, or what its part holds."""
        share = total_bytes * _SHARE_OF_DEVICE
        num_streams = int(share * _SHARE_FOR_STATES / self._state_bytes)
        num_streams = max(_LEAST_STREAMS, min(_MOST_STREAMS, num_streams))
        for_passes = share - num_streams * self._state_bytes
        return keeping(serving_plan(num_streams), lambda shape: self._pass_bytes(shape) <= for_passes)

    def bytes_on(self, total_bytes: int) -> int:
        """What the states and the largest pass of that plan take; weights apart."""
        plan = self.plan_on(total_bytes)
        return plan.num_streams * self._state_bytes + max(map(self._pass_bytes, plan.shapes))

    def _pass_bytes(self, shape: PassShape) -> int:
        """Each stream's state stands before its frames in the layers' buffers."""
        return shape.num_streams * self._state_bytes + shape.size * self._frame_bytes

    @property
    def _state_bytes(self) -> int:
        return sum(past.rows * past.width for past in self.pasts) * self.itemsize

    @property
    def _frame_bytes(self) -> int:
        """Of one frame of a pass: all layers' buffers, the largest values between them, and the samples."""
        widths = [past.rows_per_frame * past.width for past in self.pasts]
        return (sum(widths) + _WIDEST_AT_ONCE * max(widths)) * self.itemsize + (
            self.pasts[-1].rows_per_frame * _SAMPLE_BYTES
        )
