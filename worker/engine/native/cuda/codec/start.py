"""The decoder's lane on a CUDA device: weights, states, graphs, before the first request."""

from __future__ import annotations

import torch

from worker.engine.native.cuda.codec.captured_passes import CapturedPasses
from worker.engine.native.cuda.codec.lane import BatchedDecoderLane
from worker.engine.native.cuda.codec.plan import CodecPlan, serving_plan
from worker.engine.native.cuda.codec.weights import DecoderWeights, Placement
from worker.engine.native.model.codec_decoder import CodecDecoder

# Eleven bits of mantissa against bfloat16's eight for the same speed; what exceeds its range is cut off, see
# `narrowed`. Signal to noise against float32 is in the README.
_DTYPE = torch.float16
# Utterances that can be in the middle of being decoded: 2.6 MB each with the published decoder.
_NUM_STREAMS = 256


def start_decoder_lane(decoder: CodecDecoder, device: torch.device) -> BatchedDecoderLane:
    """Raises whatever CUDA raises when a capture fails."""
    return decoder_lane(decoder, device, serving_plan(_NUM_STREAMS))


@torch.inference_mode()
def decoder_lane(decoder: CodecDecoder, device: torch.device, plan: CodecPlan) -> BatchedDecoderLane:
    """A lane over the given plan."""
    torch.cuda.set_device(device)
    weights = DecoderWeights.of(decoder, Placement(device, _DTYPE))
    passes = CapturedPasses(weights, plan)
    return BatchedDecoderLane(passes, plan, decoder.samples_per_frame)
