"""What the engine is asked for. Pure: segment, voice and checkpoint decide it."""

from __future__ import annotations

from dataclasses import replace

from rhapsode.contract.jobs.options import Sampling
from rhapsode.contract.jobs.states import JobClass
from storage.jobs.work_items import ClaimedItem
from worker.engine.interface import (
    BuiltInSpeaker,
    Conditioning,
    DesignedVoice,
    EngineInfo,
    ModelTask,
    SamplingParams,
    SpeechRequest,
    Urgency,
)
from worker.errors import unusable
from worker.synthesis.manners import Manner
from worker.synthesis.spoken_segment import SpokenSegment


def speech_request(
    item: ClaimedItem,
    segment: SpokenSegment,
    conditioning: Conditioning,
    manner: Manner,
    part: int = 0,
) -> SpeechRequest:
    """One part of an attempt at a segment, counted from 0; the frame limit is the engine's own."""
    lease = item.lease
    return SpeechRequest(
        request_id=f"{lease.job}/{lease.item}/{lease.fence}/{manner.number}.{part}",
        text=manner.parts[part],
        conditioning=conditioning,
        language=segment.language,
        sampling=manner.sampling,
        seed=manner.seed,
        urgency=Urgency.INTERACTIVE if item.job_class is JobClass.INTERACTIVE else Urgency.BULK,
        is_opening=segment.index == 0,
    )


def built_in_conditioning(segment: SpokenSegment, model: str, info: EngineInfo) -> Conditioning:
    """What the checkpoint brings along to speak with. Raises `PermanentItemError` if it brings nothing."""
    match info.task:
        case ModelTask.CUSTOM_VOICE:
            return BuiltInSpeaker(segment.voice, segment.instructions)
        case ModelTask.VOICE_DESIGN:
            return DesignedVoice(segment.instructions)
        case ModelTask.BASE:
            raise unusable("voice_not_found", f"{model} has no voices of its own; name one that was uploaded")


def effective_sampling(default: SamplingParams, overrides: Sampling) -> SamplingParams:
    """The checkpoint's sampling with the caller's fields in it.

    They apply to codebook 0. The predictor keeps the checkpoint's own sampling, except that temperature 0 means
    the most likely entry everywhere: half-greedy speech is never asked for.
    """
    talker, predictor = default.talker, default.predictor
    if overrides.temperature is not None:
        talker = replace(talker, temperature=overrides.temperature)
        if overrides.temperature == 0:
            predictor = replace(predictor, temperature=0.0)
    if overrides.top_k is not None:
        talker = replace(talker, top_k=overrides.top_k)
    if overrides.top_p is not None:
        talker = replace(talker, top_p=overrides.top_p)
    penalty = default.repetition_penalty if overrides.repetition_penalty is None else overrides.repetition_penalty
    return SamplingParams(talker, predictor, penalty)
