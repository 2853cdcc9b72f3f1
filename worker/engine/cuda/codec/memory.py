"""How much of a device the codec takes, and the plan that keeps to its part. Nothing here reads the device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from worker.engine.cuda.codec.plan import CodecPlan, PassShape, keeping, serving_plan
from worker.engine.cuda.codec.stream_state import Past, state_size, workspace_size

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


@dataclass(frozen=True, slots=True)
class CodecMemory:
    """pasts: of all layers, the samples' last. itemsize: bytes of a number between the layers."""

    pasts: Sequence[Past]
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
        """Of all layers' buffers, the largest values between them, and the samples."""
        between = _WIDEST_AT_ONCE * max(past.rows_per_frame * past.width for past in self.pasts) * shape.size
        buffers = workspace_size(self.pasts, shape.num_streams, shape.num_frames)
        return (buffers + between) * self.itemsize + shape.size * self.pasts[-1].rows_per_frame * _SAMPLE_BYTES

    @property
    def _state_bytes(self) -> int:
        return state_size(self.pasts) * self.itemsize
