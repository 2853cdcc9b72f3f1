"""The segment item: from a planned stretch of text to finished audio in the store."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Protocol

from reading.estimates import expected_audio_ms
from reading.plan.plan import Plan, PlanFormatError
from rhapsode.contract.jobs.quality import Gate
from storage.errors import ArtifactMissing
from storage.job_store.leases import WholeResult
from storage.jobs.tickets import Tickets
from storage.jobs.work_items import ClaimedItem
from storage.objects import keys
from storage.runtime.config.failpoints import failpoint
from storage.runtime.observability.metrics import counter
from storage.segments.results import LEFT_OUT, SegmentReport
from storage.segments.timeline import MARGIN_S
from storage.segments.tried import RejectedTake, Rejection
from worker import metrics
from worker.engine.interface import Conditioning, EngineInfo, Speech, SpeechRequest
from worker.errors import unusable
from worker.items.leases.keeper import HeldLease
from worker.items.leases.persistence import as_edited, until_available
from worker.services import SpeechServices
from worker.speech.postprocessing.interface import PackPart, Sequel, SpeechToStore, StoredSpeech
from worker.speech.quality.findings import Defect
from worker.speech.quality.job_norms import JobNorms
from worker.speech.quality.norms_cache import Voice
from worker.speech.quality.verdict import JudgedUtterance, Verdict
from worker.synthesis.attempts import (
    AttemptSpeaker,
    Judge,
    SegmentOutcome,
    SegmentRejected,
    SpokenAttempt,
    settle_attempts,
)
from worker.synthesis.joined_speech import silence
from worker.synthesis.manners import Manner, Tries, manners
from worker.synthesis.segment_copies import find_copy
from worker.synthesis.segment_record import reusable_content, segment_header, segment_report, sentence_pauses
from worker.synthesis.speech_requests import built_in_conditioning, effective_sampling, speech_request
from worker.synthesis.spoken_segment import SpokenSegment, spoken_segment

_NO_SAMPLES = frozenset({Defect.REFUSED.value, Defect.NOT_FINITE.value})
"""Attempts with these have nothing that a file could hold."""

_EXHAUSTED = counter("rhapsode_gate_exhausted")


def run_segment(
    item: ClaimedItem, held: HeldLease, services: SpeechServices, ending: SegmentEnding | None = None
) -> Tickets:
    """Copy one segment from an earlier job or speak it until it passes; store it, count it.

    ending: of a whole job. Returns the tickets to send. Raises as `items` knows it.
    """
    plan = until_available(held, _plan, item, services)
    planned = plan.segments[int(item.lease.item)]
    segment = spoken_segment(item, as_edited(item, held, services.worker.artifacts)(planned, item.edit))
    content = reusable_content(item, segment, services.engine.info)
    reuse_id = content.id if content else ""
    part: PackPart | None = find_copy(item, segment, content, held, services)
    outcome: SegmentOutcome | None = None
    if part is None and not segment.text:
        part, outcome = _left_out(item, segment, services.engine.info)
    elif part is None:
        judge = _Judge(item, segment, plan, held, services, ending, reuse_id)
        outcome = _spoken(item, segment, judge, held, services)
        if ending is not None and judge.made is not None:
            return _ended(ending, judge.made, held)
        header = segment_header(item, segment, outcome, services.engine.info)
        pauses = sentence_pauses(item.narration.request.pauses, segment) if not header.flags else None
        part = SpeechToStore(header, outcome.speech, pauses)
    stored = _stored(part, held, services)
    return _committed(segment_report(part.header, stored, segment, reuse_id, outcome), held, services)


def _left_out(item: ClaimedItem, segment: SpokenSegment, info: EngineInfo) -> tuple[SpeechToStore, SegmentOutcome]:
    """Its user wants nothing said: silence of two margins takes its place."""
    speech = silence(2 * MARGIN_S, info)
    manner = Manner(0, segment.seed(item.narration.request.seed, 1), info.default_sampling, ())
    outcome = SegmentOutcome(SpokenAttempt(manner, speech, Verdict((), {}, None)), speech, ())
    header = replace(segment_header(item, segment, outcome, info), finish_reason=LEFT_OUT)
    return SpeechToStore(header, speech, None), outcome


class _Judge:
    """Of one segment's attempts. made: what the ending made of the one that passed at once; None of any other."""

    def __init__(
        self,
        item: ClaimedItem,
        segment: SpokenSegment,
        plan: Plan,
        held: HeldLease,
        services: SpeechServices,
        ending: SegmentEnding | None,
        reuse_id: str,
    ) -> None:
        self._gate = item.narration.request.quality.gate
        self._segment = segment
        self._held = held
        self._services = services
        self._norms = _norms(item, segment, plan, held, services)
        # What is read back is not judged where it is stored.
        self._ending = None if self._gate is Gate.ASR else ending
        self._reuse_id = reuse_id
        self.made: WholeResult | None = None

    def __call__(self, manner: Manner, speech: Speech) -> Verdict:
        utterance = JudgedUtterance(speech, self._segment.text, self._segment.voice, self._segment.language)
        ending, self._ending = self._ending, None
        if ending is None:
            return self._services.quality.judge(utterance, self._gate, self._norms)
        sequel = ending.sequel(self._segment, manner, self._reuse_id)
        bounds = self._services.quality.bounds(utterance.speaker, utterance.language)
        judged = until_available(
            self._held, self._services.postprocessor.judge_then, utterance, self._gate, bounds, self._norms, sequel
        )
        self.made = judged.made
        return judged.verdict


def _ended(ending: SegmentEnding, made: WholeResult, held: HeldLease) -> Tickets:
    failpoint("segment.after_put")
    tickets = until_available(held, ending.finish, made)
    metrics.committed(made.report.num_samples, made.report.sample_rate_hz, was_reused=False)
    failpoint("segment.before_tickets")
    return tickets


def _spoken(
    item: ClaimedItem, segment: SpokenSegment, judge: Judge, held: HeldLease, services: SpeechServices
) -> SegmentOutcome:
    """The attempt that passed, or what the job wants in its place."""
    spec, info = item.narration, services.engine.info
    conditioning = _conditioning(item, segment, held, services)
    bounds = services.quality.bounds(segment.voice, segment.language)

    def requests_of(manner: Manner) -> list[SpeechRequest]:
        return [speech_request(item, segment, conditioning, manner, part) for part in range(len(manner.parts))]

    tries = Tries(
        text=segment.text,
        sampling=effective_sampling(info.default_sampling, spec.request.sampling),
        greedy_wanted=spec.request.sampling.is_greedy,
        drawn=segment.drawn,
        first=item.rejected_attempts + 1,
        most=spec.request.quality.max_attempts,
        has_speed=info.has_speed,
        take=segment.take,
    )
    speaker = AttemptSpeaker(services.engine, services.ahead, held)
    attempts = speaker.speak(manners(tries, partial(segment.seed, spec.request.seed)), requests_of, judge)
    last = attempts[-1].verdict
    if not last.passed:
        _EXHAUSTED.inc()
    elif last.timbre and segment.own_voice:
        services.norms.heard(_voice_name(item, segment), last.timbre)
    expected_s = bounds.duration.expected_s(segment.text) if bounds.duration else expected_audio_ms(segment.text) / 1000
    try:
        return settle_attempts(attempts, segment.index, spec.request.quality, expected_s, info)
    except SegmentRejected as rejected:
        raise _with_takes_stored(rejected, item, segment, held, services) from rejected


def _with_takes_stored(
    rejected: SegmentRejected, item: ClaimedItem, segment: SpokenSegment, held: HeldLease, services: SpeechServices
) -> SegmentRejected:
    """The same failure with its takes named. Raises as the post-processor does, and `WorkDropped`."""
    takes = [_take(attempt, item, segment, held, services) for attempt in rejected.attempts]
    rejection = Rejection(item.lease.fence, tuple(takes), rejected.least_bad)
    error = replace(rejected.error, rejection=rejection)
    return SegmentRejected(error, rejected.attempts, rejected.least_bad)


def _take(
    attempt: SpokenAttempt, item: ClaimedItem, segment: SpokenSegment, held: HeldLease, services: SpeechServices
) -> RejectedTake:
    if not _NO_SAMPLES.isdisjoint(attempt.verdict.flags):
        return RejectedTake(attempt.tried)
    lease = item.lease
    key = keys.rejected_take(lease.tenant, lease.job, segment.index, lease.fence, attempt.manner.number)
    as_kept = SegmentOutcome(attempt, attempt.speech, (attempt,), attempt.verdict.flags)
    header = segment_header(item, segment, as_kept, services.engine.info)
    stored = until_available(held, services.postprocessor.store, key, SpeechToStore(header, attempt.speech))
    return RejectedTake(attempt.tried, stored.num_samples, stored.sha256)


def _stored(part: PackPart, held: HeldLease, services: SpeechServices) -> StoredSpeech:
    """With others of the job, or by itself."""
    lease = held.lease
    store_pack = partial(services.postprocessor.store_pack, lease.tenant)
    packed = services.packer.stored_with_others(lease, part, store_pack)
    if packed is not None:
        return packed
    key = keys.segment(lease.tenant, lease.job, int(lease.item), lease.fence)
    return until_available(held, services.postprocessor.store, key, part)


def _committed(report: SegmentReport, held: HeldLease, services: SpeechServices) -> Tickets:
    failpoint("segment.after_put")
    tickets = until_available(held, services.worker.jobs.commit_segment, held.lease, report)
    metrics.committed(report.num_samples, report.sample_rate_hz, was_reused=report.reused)
    failpoint("segment.before_tickets")
    return tickets


def _plan(item: ClaimedItem, services: SpeechServices) -> Plan:
    index = int(item.lease.item)
    try:
        return services.worker.plans.of(item)
    except ArtifactMissing as error:
        raise unusable("internal", "the job's plan is not in the store any more", index) from error
    except PlanFormatError as error:
        raise unusable("internal", "the job's plan in the store is damaged", index) from error


def _conditioning(item: ClaimedItem, segment: SpokenSegment, held: HeldLease, services: SpeechServices) -> Conditioning:
    if segment.own_voice is None:
        info = services.engine.info
        return built_in_conditioning(segment.voice, segment.instructions, item.narration.model, info)
    return services.voices.resolve(segment.own_voice, held)


def _norms(
    item: ClaimedItem, segment: SpokenSegment, plan: Plan, held: HeldLease, services: SpeechServices
) -> JobNorms | None:
    if item.narration.request.quality.gate is Gate.OFF or len(plan.segments) == 1:
        # What is usual in a job is known of its other segments.
        return None
    model = services.quality.bounds(segment.voice, segment.language).duration
    return until_available(held, services.norms.get, _voice_name(item, segment), plan, model)


def _voice_name(item: ClaimedItem, segment: SpokenSegment) -> Voice:
    return (item.lease.job, segment.speaker, segment.instructions)


class SegmentEnding(Protocol):
    def sequel(self, segment: SpokenSegment, manner: Manner, reuse_id: str) -> Sequel:
        """What the post-processor does with speech of this manner: it stores the segment and makes the job's files.

        reuse_id: of the content, "" if no other job may have it.
        """
        ...

    def finish(self, made: WholeResult) -> Tickets:
        """The job has succeeded. Returns the tickets to send; raises as a commit does."""
        ...
