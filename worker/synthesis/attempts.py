"""A segment is spoken until it passes: attempt, verdict, another manner; and what becomes of one that never does."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from rhapsode.contract.jobs.quality import SEGMENT_QUALITY, OnExhausted, Quality
from storage.jobs.record import JobError
from storage.jobs.warnings import SEGMENT_GAP
from storage.runtime.observability.metrics import counter
from storage.runtime.observability.tracing import span
from storage.segments.results import SILENCED
from storage.segments.tried import StoredAttempt
from worker.engine.errors import RequestCancelled, RequestRejected
from worker.engine.interface import Engine, EngineInfo, FinishReason, Speech, SpeechRequest
from worker.errors import PermanentItemError
from worker.items.leases.claim_ahead import ClaimAhead
from worker.items.leases.keeper import HeldLease
from worker.speech.quality.findings import Defect, SpeechFinding
from worker.speech.quality.verdict import Verdict
from worker.synthesis.joined_speech import joined, silence
from worker.synthesis.manners import Manner

logger = logging.getLogger(__name__)

LARGER_BUDGET = 2
"""An attempt that the engine's own frame limit stopped is followed by one that may take so many times as many."""

UNHEARD = "unheard"
"""The flag of a segment that should have been read back and was not: no recogniser knows its language."""

_ATTEMPTS = counter("rhapsode_gate_attempts")
_PASSED, _FAILED = (_ATTEMPTS.labels(verdict) for verdict in ("passed", "failed"))
_DEFECTS = counter("rhapsode_gate_defects")
_REROLLS = counter("rhapsode_gate_rerolls")
_JUDGING_S = counter("rhapsode_gate_judging_seconds")

Judge = Callable[[Manner, Speech], Verdict]
RequestsOf = Callable[[Manner], Sequence[SpeechRequest]]
"""The requests of an attempt, one for each part of the text."""


@dataclass(frozen=True, slots=True)
class SpokenAttempt:
    manner: Manner
    speech: Speech
    verdict: Verdict

    @property
    def tried(self) -> StoredAttempt:
        """As the job's record has it."""
        return StoredAttempt(
            number=self.manner.number,
            seed=self.manner.seed,
            temperature=self.manner.sampling.talker.temperature,
            parts=len(self.manner.parts),
            findings=self.verdict.flags,
            reasons=tuple(str(finding) for finding in self.verdict.findings),
            checks=self.verdict.checks,
        )


@dataclass(frozen=True, slots=True)
class SegmentOutcome:
    """What a segment became. kept: the attempt whose verdict stands; `speech` is its own, or silence in its place.

    warning: why it was kept although it did not pass, "" if it did; warning_code: the public contract's for that.
    """

    kept: SpokenAttempt
    speech: Speech
    attempts: tuple[SpokenAttempt, ...]
    flags: tuple[str, ...] = ()
    warning: str = ""
    warning_code: str = SEGMENT_QUALITY

    @property
    def engine_s(self) -> float:
        return sum(attempt.speech.engine_s for attempt in self.attempts)


class SegmentRejected(PermanentItemError):
    """No attempt can be kept, or the job wants none that did not pass."""

    def __init__(self, error: JobError, attempts: Sequence[SpokenAttempt], least_bad: int) -> None:
        super().__init__(error)
        self.attempts = tuple(attempts)
        self.least_bad = least_bad


@dataclass(frozen=True, slots=True)
class AttemptSpeaker:
    """Whom attempts are asked of, under whose lease, and who learns that the engine has answered."""

    engine: Engine
    ahead: ClaimAhead
    held: HeldLease

    def speak(self, manners: Iterable[Manner], requests_of: RequestsOf, judge: Judge) -> list[SpokenAttempt]:
        """One attempt after the other until one passes or none is left. Between them the lease may be dropped.

        An engine that refuses the text is not asked again. Raises `WorkDropped` or `EngineDied`.
        """
        attempts: list[SpokenAttempt] = []
        larger: int | None = None
        for manner in manners:
            self.held.check()
            if attempts:
                _REROLLS.labels(attempts[-1].verdict.flags[0]).inc()
            requests = [replace(each, max_frames=each.max_frames or larger) for each in requests_of(manner)]
            attempt = self._attempt(manner, requests, judge)
            attempts.append(attempt)
            if attempt.verdict.passed:
                break
            logger.info(
                "segment did not pass", extra={"attempt": manner.number, "found": ", ".join(attempt.verdict.flags)}
            )
            if Defect.REFUSED.value in attempt.verdict.flags:
                break
            if attempt.speech.finish_reason is FinishReason.LENGTH:
                larger = LARGER_BUDGET * len(attempt.speech.frames)
        return attempts

    def _attempt(self, manner: Manner, requests: Sequence[SpeechRequest], judge: Judge) -> SpokenAttempt:
        with span("engine", attempt=manner.number) as spoken:
            try:
                speech = self._spoken(requests)
            except RequestRejected as error:
                spoken.note(refused=str(error))
                return _refused(manner, str(error), self.engine.info)
            spoken.note(frames=len(speech.frames), finish_reason=speech.finish_reason.value)
        started_s = time.perf_counter()
        verdict = judge(manner, speech)
        _JUDGING_S.inc(time.perf_counter() - started_s)
        (_PASSED if verdict.passed else _FAILED).inc()
        for defect in verdict.flags:
            _DEFECTS.labels(defect).inc()
        return SpokenAttempt(manner, speech, verdict)

    def _spoken(self, requests: Sequence[SpeechRequest]) -> Speech:
        """All parts at a time, joined in their order."""
        futures = [self.engine.submit(request) for request in requests]
        futures[-1].add_done_callback(lambda _: self.ahead.give_back(self.held.lease))
        self.held.on_drop(lambda: self._cancel(requests))
        try:
            return joined([future.result() for future in futures])
        except RequestCancelled:
            self.held.check()
            raise
        except RequestRejected:
            self._cancel(requests)
            raise

    def _cancel(self, requests: Sequence[SpeechRequest]) -> None:
        for request in requests:
            self.engine.cancel(request.request_id)


def settle_attempts(
    attempts: Sequence[SpokenAttempt], index: int, quality: Quality, silence_s: float, info: EngineInfo
) -> SegmentOutcome:
    """What the job asked for when no attempt passed. Raises `SegmentRejected` where that is failure.

    silence_s: expected length of the segment.
    """
    best = min(attempts, key=lambda attempt: (attempt.verdict.badness(), attempt.manner.number))
    if best.verdict.passed and best.verdict.unheard:
        warning = f"segment {index} was not read back: no recogniser of its worker knows the language"
        return SegmentOutcome(best, best.speech, tuple(attempts), (UNHEARD,), warning)
    if best.verdict.passed:
        return SegmentOutcome(best, best.speech, tuple(attempts))
    is_hard = best.verdict.is_hard
    said = _said(index, attempts, best)
    match quality.on_exhausted:
        case OnExhausted.KEEP_BEST | OnExhausted.KEEP_BEST_OR_GAP if not is_hard:
            warning = f"{said}; it was kept"
            return SegmentOutcome(best, best.speech, tuple(attempts), best.verdict.flags, warning)
        case OnExhausted.KEEP_BEST_OR_GAP | OnExhausted.SILENCE:
            warning = f"{said}; {silence_s:.1f} s of silence stand in its place"
            flags = (*best.verdict.flags, SILENCED)
            return SegmentOutcome(best, silence(silence_s, info), tuple(attempts), flags, warning, SEGMENT_GAP)
        case OnExhausted.KEEP_BEST | OnExhausted.FAIL:
            refused = Defect.REFUSED.value in best.verdict.flags
            code, detail = ("invalid_request", str(best.verdict.findings[0])) if refused else (SEGMENT_QUALITY, said)
            error = JobError(code, detail, index, rejected_attempts=len(attempts))
            raise SegmentRejected(error, attempts, best.manner.number)


def _said(index: int, attempts: Sequence[SpokenAttempt], best: SpokenAttempt) -> str:
    """Which segment, how often, and what is wrong with the best of them."""
    found = "; ".join(str(finding) for finding in best.verdict.findings)
    times = "" if len(attempts) == 1 else f" in {len(attempts)} attempts. The best was attempt {best.manner.number}"
    return f"segment {index} did not pass its checks{times}: {found}"


def _refused(manner: Manner, reason: str, info: EngineInfo) -> SpokenAttempt:
    finding = SpeechFinding(Defect.REFUSED, 0.0, 0.0, said=reason)
    return SpokenAttempt(manner, silence(0.0, info), Verdict((finding,), {}, None))
