"""The codec's lane on a CUDA device: weights, states, graphs, before the first request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from worker.engine.cuda.codec.captured_passes import CapturedPasses
from worker.engine.cuda.codec.codec_pass import pasts_of
from worker.engine.cuda.codec.convolution import convolution_for
from worker.engine.cuda.codec.lane import BatchedCodecLane, PassTrigger
from worker.engine.cuda.codec.plan import CodecPlan, PassShape, keeping, serving_plan
from worker.engine.cuda.codec.stream_state import Past, state_size, workspace_size
from worker.engine.cuda.codec.weights import CodecWeights, Placement
from worker.engine.cuda.device_memory import total_and_free_bytes
from worker.engine.model.codec_decoder import CodecDecoder
from worker.engine.profiles import PROFILES, ServingProfile
from worker.engine.serving.parts import StartedCodec

# Of the device's whole memory. All passes fit into this part of 80 GB. On a smaller device the largest are left out,
# which costs little. Passes of 600 frames run at 97 % of the speed of those of 1,600 on an H200.
_SHARE_OF_DEVICE = 1 / 8
# Of that: the states of utterances that are in the middle of being decoded. The rest is for the largest pass.
_SHARE_FOR_STATES = 1 / 4
# 2.6 MB each with the published codec. The most hold 512 live streams, and utterances and references beside them.
_MOST_STREAMS, _LEAST_STREAMS = 640, 16
# A residual unit's input, what is between its convolutions, and its output.
_WIDEST_AT_ONCE = 3
_SAMPLE_BYTES = 4


# Eleven bits of mantissa against bfloat16's eight for the same speed; what exceeds its range is cut off, see
# `causal_conv.narrowed`. Signal to noise against float32 is in the README.
_DTYPE = torch.float16
# A pass of 600 frames, 48 s of speech, runs at 97 % of the speed of one of 1,600 on an H200. Beside the talker large
# passes are better: with 1,600 the engine is 3.6 % faster at 512 streams, but 1.2 % slower at 256 (H200, 1.7B).
_ENOUGH_FRAMES, _ENOUGH_FRAMES_A_REQUEST = 600, 3
# With so few streams the talker leaves the device idle most of the time.
_LEAST_COMPANY = 16


@torch.inference_mode()
def start_codec_lane(decoder: CodecDecoder, device: torch.device, profile: ServingProfile) -> StartedCodec:
    """Raises whatever CUDA raises when a capture fails."""
    torch.cuda.set_device(device)
    weights = CodecWeights.of(decoder, Placement(device, _DTYPE))
    total_bytes, _ = total_and_free_bytes(device)
    memory = CodecMemory(pasts_of(weights), _DTYPE.itemsize)
    plan = memory.plan_on(total_bytes)
    parameters = PROFILES[profile]
    patience = PassTrigger(_ENOUGH_FRAMES, _ENOUGH_FRAMES_A_REQUEST, parameters.codec_patience_s, _LEAST_COMPANY)
    passes = CapturedPasses(weights, plan, convolution_for(device, _DTYPE), parameters.codec_priority)
    beside_streams = parameters.codec_frames_beside_streams
    # What the passes took before they were captured: the slots are planned from what is free.
    torch.cuda.empty_cache()
    lane = BatchedCodecLane(passes, plan, decoder.samples_per_frame, patience, beside_streams)
    return StartedCodec(lane, memory.bytes_on)


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
