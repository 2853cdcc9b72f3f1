"""The talker's lane on a CUDA device: weights, memory, kernels, graphs, in this order, before the first request."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from worker.engine.cuda.capability import cuda_device, require_precisions
from worker.engine.cuda.device_memory import total_and_free_bytes
from worker.engine.cuda.float8 import FLOAT8
from worker.engine.cuda.memory_plan import MemoryPlan, bytes_per_position, share_slots
from worker.engine.cuda.talker.capture_plan import CapturePlan, capture_plan, opening_plan
from worker.engine.cuda.talker.decode.operations import Operations
from worker.engine.cuda.talker.decode.triton_operations import operations_kind
from worker.engine.cuda.talker.frame_executor import GraphedFrames
from worker.engine.cuda.talker.lane import LaneShape, OpeningFrames, SlotTalkerLane
from worker.engine.cuda.talker.prefill.layers import CapturedPromptLayers, PromptLayers
from worker.engine.cuda.talker.prefill.pack import SlotAdmission
from worker.engine.cuda.talker.scheduler import SlotScheduler
from worker.engine.cuda.talker.talker import SlotTalker
from worker.engine.cuda.talker.weights import SpeechWeights
from worker.engine.errors import CheckpointError
from worker.engine.model.config import ModelConfig
from worker.engine.profiles import PROFILES, EngineReproducibility
from worker.engine.serving.chunks import ChunkPlan
from worker.engine.serving.parts import SlotMemory, StartedTalker
from worker.engine.settings import NativeEngineSettings, Precision

logger = logging.getLogger(__name__)

# bfloat16 as the checkpoints are published; norms, rotations, softmax, logits and sums are float32 inside.
_DTYPE = torch.bfloat16
CACHE_DTYPES = {Precision.BFLOAT16: torch.bfloat16, Precision.FLOAT8: FLOAT8}
# Programs that attention should have at least, whatever the number of rows: some for each of 132 multiprocessors.
_ATTENTION_PROGRAMS = 512
_MAX_SPLITS = 16
_GIB = 1 << 30
_LEAST_HEAD_DIM = 16
# Of a live utterance: 2 s, a shape that the codec's lane has captured.
_MOST_CHUNK_FRAMES = 25
# Lower goes first: frames go before the codec's convolutions, unless the profile puts those in front of them. A
# listener waits for a prompt and the frame after it, while the running streams have frames in reserve.
_FRAMES_PRIORITY, _PROMPTS_PRIORITY = -1, -2


def start_slot_lane(
    path: Path, config: ModelConfig, capacity: int, settings: NativeEngineSettings, device: torch.device
) -> StartedTalker:
    """A lane of at most `capacity` positions a slot, and what there was room for.

    Raises StartError, and whatever CUDA raises when a capture fails.
    """
    began_s = time.monotonic()
    _require_kernels_for(config)
    require_precisions(settings, cuda_device(device))
    torch.cuda.set_device(device)
    weights = SpeechWeights.load(path, config, capacity, _DTYPE, device)
    if settings.mlp_precision is Precision.FLOAT8:
        weights = weights.with_float8_mlps()
    # Copies that the loading made are free memory too.
    torch.cuda.empty_cache()
    cache_bytes = bytes_per_position(config, CACHE_DTYPES[settings.kv_precision])
    memory = SlotMemory(*total_and_free_bytes(device), capacity, cache_bytes)
    is_strict = settings.reproducibility is EngineReproducibility.STRICT
    plan, num_live = _planned(settings.slots, settings.few_live_slots if is_strict else settings.live_slots, memory)
    lane = slot_lane(weights, plan.num_slots - num_live, num_live, plan.capacity, config.text_control.tts_pad, settings)
    logger.info("the talker is ready", extra={"seconds": round(time.monotonic() - began_s, 1)})
    return StartedTalker(
        lane, plan.num_slots - num_live, num_live, plan.capacity, takes_open_text=True, slot_memory=memory
    )


def _planned(slots: int, live_slots: int | None, memory: SlotMemory) -> tuple[MemoryPlan, int]:
    plan, num_live = share_slots(slots, live_slots, memory.capacity, memory.bytes_per_position, memory.free_bytes)
    logger.info(
        "planned the slots",
        extra={
            "slots": plan.num_slots - num_live,
            "live_slots": num_live,
            "wanted": slots,
            "positions": plan.capacity,
            "gib": round(plan.num_slots * plan.capacity * memory.bytes_per_position / _GIB, 2),
            "free_gib": round(memory.free_bytes / _GIB, 2),
        },
    )
    return plan, num_live


@dataclass(frozen=True, slots=True)
class StreamPrefill:
    """`Prefill` on a stream beside that of the frames."""

    talker: SlotTalker
    layers: PromptLayers
    stream: torch.cuda.Stream
    frames_stream: torch.cuda.Stream

    def launch(self, admissions: Sequence[SlotAdmission], num_tokens: int, *, behind_frames: bool) -> None:
        if behind_frames:
            self.stream.wait_stream(self.frames_stream)
        with torch.cuda.stream(self.stream):
            self.talker.admit(admissions, num_tokens, self.layers)

    def join(self) -> None:
        self.frames_stream.wait_stream(self.stream)

    def extend(self, slot: int, start: int, ids: Sequence[int], max_frames: int) -> None:
        with torch.cuda.stream(self.frames_stream):
            self.talker.extend(slot, start, ids, max_frames)


def slot_lane(
    weights: SpeechWeights, num_slots: int, num_live: int, capacity: int, pad_id: int, settings: NativeEngineSettings
) -> SlotTalkerLane:
    """A lane over loaded weights on a CUDA device. num_live: slots for live speech, beside `num_slots`."""
    most_rows = num_slots + num_live
    parameters, device = PROFILES[settings.profile], weights.device
    cache_dtype = CACHE_DTYPES[settings.kv_precision]
    plan = capture_plan(most_rows, capacity, settings.reproducibility)
    stream = torch.cuda.Stream(device, priority=_FRAMES_PRIORITY)
    prompts_stream = torch.cuda.Stream(device, priority=_PROMPTS_PRIORITY)
    with torch.cuda.stream(stream):
        talker = SlotTalker(weights, most_rows, capacity, plan.max_rows, pad_id, cache_dtype)
        operations_for = operations_by_rows(weights, plan)
        frames = GraphedFrames(talker.step, plan, operations_for, most_rows, parameters.frames_in_flight, stream)
    stream.synchronize()
    with torch.cuda.stream(prompts_stream):
        prompt_layers = _prompt_layers(talker, plan, operations_for(plan.max_rows), weights, prompts_stream)
        # The first of those that are not captured would make the first request wait for compilers.
        for num_tokens in plan.token_buckets:
            talker.warm_up(num_tokens, prompt_layers)
        openings = _opening_frames(talker, weights, opening_plan(plan, parameters.most_openings), prompts_stream)
    prompts_stream.synchronize()

    return SlotTalkerLane(
        StreamPrefill(talker, prompt_layers, prompts_stream, stream),
        frames,
        SlotScheduler(num_slots, num_live, parameters.admission),
        plan,
        LaneShape(most_rows, capacity, weights.num_codebooks),
        parameters.frames_in_flight,
        ChunkPlan(parameters.first_chunk_frames, _MOST_CHUNK_FRAMES),
        openings,
    )


def _opening_frames(
    talker: SlotTalker, weights: SpeechWeights, plan: CapturePlan | None, stream: torch.cuda.Stream
) -> OpeningFrames | None:
    """Steps with separate memory, because they run beside those of all others."""
    if plan is None:
        return None
    operations_for = operations_by_rows(weights, plan)
    step = talker.frame_step(plan.max_rows)
    frames = GraphedFrames(step, plan, operations_for, talker.state.num_slots, 1, stream)
    return OpeningFrames(frames, plan.max_rows)


def _prompt_layers(
    talker: SlotTalker, plan: CapturePlan, operations: Operations, weights: SpeechWeights, stream: torch.cuda.Stream
) -> PromptLayers:
    eager = talker.eager_layers(operations)
    if not plan.captured_tokens:
        return eager
    size = (plan.captured_tokens[-1], weights.codec_table.shape[1])
    inputs = torch.zeros(size, dtype=weights.dtype, device=weights.device)
    return CapturedPromptLayers(eager, inputs, plan.captured_tokens, talker.state.num_slots, stream)


def operations_by_rows(weights: SpeechWeights, plan: CapturePlan) -> Callable[[int], Operations]:
    """Operations for a bucket: few rows divide their histories into more parts, unless all are to round alike."""
    num_kv_heads = weights.talker.transformer.layers[0].heads.num_kv_heads
    arrivals = torch.zeros(plan.max_rows * num_kv_heads, dtype=torch.int32, device=weights.device)

    def operations(num_rows: int) -> Operations:
        rows = plan.max_rows if plan.reproducibility is EngineReproducibility.STRICT else num_rows
        return operations_kind(rows)(_num_splits(rows * num_kv_heads), arrivals)

    return operations


def _require_kernels_for(config: ModelConfig) -> None:
    """A program of ours holds a head in registers, whose number is a power of two."""
    for name, transformer in (("talker", config.talker.transformer), ("code predictor", config.predictor.transformer)):
        if transformer.head_dim < _LEAST_HEAD_DIM or transformer.head_dim & (transformer.head_dim - 1):
            raise CheckpointError(
                f"on a GPU the {name}'s head_dim should be a power of two and at least {_LEAST_HEAD_DIM}, "
                f"is {transformer.head_dim}"
            )


def _num_splits(num_histories: int) -> int:
    splits = 1
    while splits < _MAX_SPLITS and splits * num_histories < _ATTENTION_PROGRAMS:
        splits *= 2
    return splits
