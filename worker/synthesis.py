"""The segment item: from a planned stretch of text to finished audio in the store."""

from __future__ import annotations

import hashlib
import logging
from dataclasses import replace

from storage import keys
from storage.errors import ArtifactMissing
from storage.failpoints import failpoint
from storage.jobs import ClaimedItem, NarrationSpec, SamplingOverrides, SegmentReport, Tickets
from storage.plan import PlanFormatError, PlannedSegment
from storage.plan_cache import PlanCache
from storage.segment_file import SegmentHeader
from worker.engine.errors import RequestCancelled, RequestRejected
from worker.engine.interface import (
    BuiltInSpeaker,
    Conditioning,
    DesignedVoice,
    EngineInfo,
    FinishReason,
    ModelTask,
    SamplingParams,
    Speech,
    SpeechRequest,
)
from worker.errors import unusable
from worker.leases import HeldLease
from worker.persistence import put_fenced, until_available
from worker.samples import NotFinite, to_samples
from worker.segment_audio import SegmentAudio, encode_segment
from worker.services import SpeechServices
from worker.speech_edges import finish_edges

logger = logging.getLogger(__name__)


def run_segment(item: ClaimedItem, held: HeldLease, services: SpeechServices) -> Tickets:
    """Speak one segment, store it, count it; returns the tickets to send."""
    index = int(item.lease.item)
    planned = until_available(lambda: _planned(item, index, services.plans), held)
    conditioning = _conditioning(item.narration, held, services)
    request = speech_request(item, planned, conditioning, services.engine.info)
    speech = _speak(request, item, held, services)
    if speech.finish_reason is FinishReason.LENGTH:
        logger.warning("segment reached its length limit", extra={"frames": len(speech.frames)})
    segment = finished_segment(item, request, speech, services.engine.info)
    key = keys.segment(item.lease.tenant, item.lease.job, index, item.lease.fence)
    sha256 = put_fenced(services.artifacts, key, encode_segment(segment), held)
    failpoint("segment.after_put")
    report = SegmentReport(
        num_samples=len(segment.pcm),
        sample_rate_hz=speech.sample_rate_hz,
        num_chars=planned.end - planned.start,
        sha256=sha256,
        finish_reason=speech.finish_reason.value,
        engine_ms=round(speech.engine_s * 1000),
    )
    tickets = until_available(lambda: services.jobs.commit_segment(item.lease, report), held)
    failpoint("segment.before_tickets")
    return tickets


def speech_request(
    item: ClaimedItem, planned: PlannedSegment, conditioning: Conditioning, info: EngineInfo
) -> SpeechRequest:
    """What the engine is asked for. Pure: item, plan, voice and checkpoint decide it.

    Runs of whitespace are spoken as one space, so that the line width of the input is not heard.
    """
    lease, spec = item.lease, item.narration
    return SpeechRequest(
        request_id=f"{lease.job}/{lease.item}/{lease.fence}",
        text=" ".join(planned.text.split()),
        conditioning=conditioning,
        language=spec.language,
        sampling=effective_sampling(info.default_sampling, spec.sampling),
        seed=segment_seed(spec.seed, planned.index),
    )


def built_in_conditioning(spec: NarrationSpec, info: EngineInfo) -> Conditioning:
    """What the checkpoint brings along to speak with. Pure. Raises `PermanentItemError` if it brings nothing."""
    match info.task:
        case ModelTask.CUSTOM_VOICE:
            return BuiltInSpeaker(spec.voice, spec.instructions)
        case ModelTask.VOICE_DESIGN:
            return DesignedVoice(spec.instructions)
        case ModelTask.BASE:
            raise unusable("voice_not_found", f"{spec.model} has no voices of its own; name one that was uploaded")


def segment_seed(job_seed: int, index: int) -> int:
    """The seed of a segment: the upper 53 bits of sha256("rhapsode segment seed 1:<job seed>:<index>").

    Fixed for all times and machines, different for every segment; 53 bits are exact in every JSON reader.
    """
    digest = hashlib.sha256(f"rhapsode segment seed 1:{job_seed}:{index}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 11


def effective_sampling(default: SamplingParams, overrides: SamplingOverrides) -> SamplingParams:
    """The checkpoint's sampling with the caller's fields in it.

    They apply to codebook 0. The predictor keeps the checkpoint's own sampling, except that temperature 0 means
    the most likely entry everywhere: half-greedy speech is what nobody asks for.
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


def finished_segment(item: ClaimedItem, request: SpeechRequest, speech: Speech, info: EngineInfo) -> SegmentAudio:
    """The speech with its edges trimmed and faded, as 16-bit samples, and with its provenance. Pure."""
    try:
        samples = to_samples(finish_edges(speech.pcm, speech.sample_rate_hz))
    except NotFinite as error:
        raise unusable("segment_quality", str(error), int(item.lease.item)) from error
    spec = item.narration
    header = SegmentHeader(
        job=item.lease.job,
        index=int(item.lease.item),
        fence=item.lease.fence,
        text_sha256=hashlib.sha256(request.text.encode()).hexdigest(),
        seed=request.seed,
        finish_reason=speech.finish_reason.value,
        model=spec.model,
        revision=info.revision,
        sample_rate_hz=speech.sample_rate_hz,
        voice=spec.own_voice.content(item.lease.tenant, info.revision) if spec.own_voice else spec.voice,
    )
    return SegmentAudio(header, samples, speech.frames)


def _planned(item: ClaimedItem, index: int, plans: PlanCache) -> PlannedSegment:
    if item.plan_key is None:
        raise RuntimeError("a segment was claimed before its job had a plan")
    try:
        return plans.get(item.plan_key).segments[index]
    except ArtifactMissing as error:
        raise unusable("internal", "the job's plan is not in the store any more", index) from error
    except PlanFormatError as error:
        raise unusable("internal", f"the job's plan in the store is damaged: {error}", index) from error


def _conditioning(spec: NarrationSpec, held: HeldLease, services: SpeechServices) -> Conditioning:
    if spec.own_voice is None:
        return built_in_conditioning(spec, services.engine.info)
    return services.voices.resolve(spec.own_voice, held)


def _speak(request: SpeechRequest, item: ClaimedItem, held: HeldLease, services: SpeechServices) -> Speech:
    future = services.engine.submit(request)
    held.on_drop(lambda: services.engine.cancel(request.request_id))
    try:
        return future.result()
    except RequestCancelled:
        held.check()
        raise
    except RequestRejected as error:
        raise unusable("invalid_request", str(error), int(item.lease.item)) from error
