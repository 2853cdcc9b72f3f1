"""What the engine is asked for. Pure: segment, voice and checkpoint decide it."""

from __future__ import annotations

from dataclasses import replace

from reading.estimates import expected_audio_ms
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
    TokenSampling,
    Urgency,
)
from worker.errors import unusable
from worker.synthesis.manners import REROLL_TEMPERATURE, Manner
from worker.synthesis.spoken_segment import SpokenSegment

FRAME_MS = 80
LONGEST_OF_EXPECTED = 8
SLACK_FRAMES = 50
"""Twice what the engine gives a text by itself."""


def speech_request(
    item: ClaimedItem, segment: SpokenSegment, conditioning: Conditioning, manner: Manner, part: int = 0
) -> SpeechRequest:
    """One part of an attempt at a segment, counted from 0; the frame limit is the job's, or else the engine's own."""
    lease, most = item.lease, item.narration.request.sampling.max_new_tokens
    return SpeechRequest(
        request_id=f"{lease.job}/{lease.item}/{lease.fence}/{manner.number}.{part}",
        text=manner.parts[part],
        conditioning=conditioning,
        language=segment.language,
        sampling=manner.sampling,
        seed=manner.seed,
        max_frames=None if most is None else frame_limit(manner.parts[part], most // len(manner.parts)),
        urgency=Urgency.INTERACTIVE if item.job_class is JobClass.INTERACTIVE else Urgency.BULK,
        is_opening=segment.index == 0,
        speed=manner.speed,
    )


def built_in_conditioning(voice: str, instructions: str, model: str, info: EngineInfo) -> Conditioning:
    """What the checkpoint brings along to speak with. Raises `PermanentItemError` if it brings nothing."""
    match info.task:
        case ModelTask.CUSTOM_VOICE:
            return BuiltInSpeaker(voice, instructions)
        case ModelTask.VOICE_DESIGN:
            return DesignedVoice(instructions)
        case ModelTask.BASE:
            raise unusable("voice_not_found", f"{model} has no built-in voices; name an uploaded one")


def frame_limit(text: str, most: int) -> int:
    """`most` frames, or fewer where no speech of this text is as long: a limit is no leave to speak without end."""
    return max(1, min(most, round(LONGEST_OF_EXPECTED * expected_audio_ms(text) / FRAME_MS) + SLACK_FRAMES))


def effective_sampling(default: SamplingParams, overrides: Sampling) -> SamplingParams:
    """The checkpoint's sampling with the caller's fields in it.

    Those without `subtalker` apply to codebook 0. The predictor keeps the checkpoint's own sampling, except that
    temperature 0 means the most likely entry everywhere: half-greedy speech is spoken where it is asked for by name.
    """
    talker = _changed(default.talker, overrides.temperature, overrides.top_k, overrides.top_p)
    predictor = _changed(
        default.predictor, overrides.subtalker_temperature, overrides.subtalker_top_k, overrides.subtalker_top_p
    )
    if overrides.is_greedy:
        talker = replace(talker, temperature=0.0)
        if not overrides.subtalker_temperature:
            predictor = replace(predictor, temperature=0.0)
    elif overrides.do_sample and talker.temperature == 0:
        # The checkpoint's own is to take the likeliest, so that it says nothing of how to draw.
        talker = replace(talker, temperature=REROLL_TEMPERATURE)
    penalty = default.repetition_penalty if overrides.repetition_penalty is None else overrides.repetition_penalty
    return SamplingParams(talker, predictor, penalty)


def _changed(own: TokenSampling, temperature: float | None, top_k: int | None, top_p: float | None) -> TokenSampling:
    return TokenSampling(
        own.temperature if temperature is None else temperature,
        own.top_k if top_k is None else top_k,
        own.top_p if top_p is None else top_p,
    )
