"""The codec's lane on a CUDA device: weights, states, graphs, before the first request."""

from __future__ import annotations

import torch

from worker.engine.cuda.codec.captured_passes import CapturedPasses
from worker.engine.cuda.codec.codec_pass import pasts_of
from worker.engine.cuda.codec.convolution import convolution_for
from worker.engine.cuda.codec.kernels.causal_conv import causal_conv
from worker.engine.cuda.codec.lane import BatchedCodecLane, PassTrigger
from worker.engine.cuda.codec.memory import CodecMemory
from worker.engine.cuda.codec.weights import CodecWeights, Placement
from worker.engine.cuda.device_memory import total_and_free_bytes
from worker.engine.model.codec_decoder import CodecDecoder
from worker.engine.profiles import PROFILES, ServingProfile
from worker.engine.serving.parts import StartedCodec

# Eleven bits of mantissa against bfloat16's eight for the same speed; what exceeds its range is cut off, see
# `causal_conv.narrowed`. Signal to noise against float32 is in the README.
_DTYPE = torch.float16
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
    patience = PassTrigger(parameters.codec_enough_frames, parameters.codec_patience_s, _LEAST_COMPANY)
    convolution = convolution_for(device, _DTYPE) if parameters.codec_chip_kernels else causal_conv
    passes = CapturedPasses(weights, plan, convolution, parameters.codec_priority)
    beside_streams = parameters.codec_frames_beside_streams
    # What the passes took before they were captured: the slots are planned from what is free.
    torch.cuda.empty_cache()
    lane = BatchedCodecLane(passes, plan, decoder.samples_per_frame, patience, beside_streams)
    return StartedCodec(lane, memory.bytes_on)
