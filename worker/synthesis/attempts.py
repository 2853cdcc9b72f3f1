"""A segment is spoken until it passes: attempt, verdict, another seed; and what becomes of one that never does."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from storage.jobs.record import JobError
from storage.narration.quality import SEGMENT_QUALITY, OnExhausted, Quality
from storage.runtime.observability.tracing import span
from worker.engine.errors import RequestCancelled, RequestRejected
from worker.engine.interface import Engine, EngineInfo, FinishReason, Speech, SpeechRequest
from worker.errors import PermanentItemError, unusable
from worker.leases.claim_ahead import ClaimAhead
from worker.leases.keeper import HeldLease
from worker.speech.quality.checks import Defect
from worker.speech.quality.counters import GateCounters
from worker.speech.quality.verdict import Verdict

logger = logging.getLogger(__name__)

LARGER_BUDGET = 2
"""An attempt that its frame limit stopped is followed by one that may take so many times as many."""

SILENCED = "silenced"
"""The flag of a segment whose place is taken by silence."""

UNHEARD = "unheard"
"""The flag of a segment that should have been read back and was not: no recogniser knows its language."""

Judge = Callable[[Speech], Verdict]
RequestOf = Callable[[int], SpeechRequest]
"""The request of an attempt, counted from 1."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """number: from 1. seed: the one it was spoken with."""

    number: int
    seed: int
    speech: Speech
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a segment became. kept: the attempt whose verdict stands; `speech` is its own, or silence in its place.

    warning: why it was kept although it did not pass, "" if it did.
    """

    kept: Attempt
    speech: Speech
    attempts: int
    engine_s: float
    flags: tuple[str, ...] = ()
    warning: str = ""


@dataclass(frozen=True, slots=True)
class Speaker:
    """Whom attempts are asked of, under whose lease, and who learns that the engine has answered."""

    engine: Engine
    ahead: ClaimAhead
    held: HeldLease
    counters: GateCounters
    first: int = 1
    """Number of the first attempt: those before it did not pass when the job ended last time."""

    def speak(self, request_of: RequestOf, judge: Judge, index: int, quality: Quality) -> list[Attempt]:
        """One attempt after the other until one passes or none is left. Between them the lease may be dropped.

        Raises `WorkDropped`, `EngineDied` or `PermanentItemError`.
        """
        attempts: list[Attempt] = []
        for attempt in self._attempts(request_of, judge, index, quality.max_attempts):
            attempts.append(attempt)
            if attempt.verdict.passed:
                break
            logger.info(
                "segment did not pass", extra={"attempt": attempt.number, "found": ", ".join(attempt.verdict.flags)}
            )
        return attempts

    def _attempts(self, request_of: RequestOf, judge: Judge, index: int, most: int) -> Iterator[Attempt]:
        max_frames: int | None = None
        for number in range(self.first, self.first + most):
            self.held.check()
            request = replace(request_of(number), max_frames=max_frames)
            with span("engine", attempt=number) as spoken:
                speech = self._spoken(request, index)
                spoken.note(frames=len(speech.frames), finish_reason=speech.finish_reason.value)
            started_s = time.perf_counter()
            verdict = judge(speech)
            self.counters.judged(verdict.flags, number - self.first + 1, time.perf_counter() - started_s)
            yield Attempt(number, request.seed, speech, verdict)
            if number + 1 < self.first + most:
                self.counters.rerolled(verdict.flags[0])
            if speech.finish_reason is FinishReason.LENGTH:
                max_frames = LARGER_BUDGET * len(speech.frames)

    def _spoken(self, request: SpeechRequest, index: int) -> Speech:
        future = self.engine.submit(request)
        future.add_done_callback(lambda _: self.ahead.give_back(self.held.lease))
        self.held.on_drop(lambda: self.engine.cancel(request.request_id))
        try:
            return future.result()
        except RequestCancelled:
            self.held.check()
            raise
        except RequestRejected as error:
            raise unusable("invalid_request", str(error), index) from error


def settle_attempts(
    attempts: list[Attempt], index: int, quality: Quality, silence_s: float, info: EngineInfo
) -> Outcome:
    """What the job asked for when no attempt passed. Raises `PermanentItemError` if it asked for failure.

    The best attempt is the one whose worst finding is the least grave (`checks.SEVERITY`), then the one with fewest
    findings, then the earliest. silence_s: expected length of the segment.
    """
    engine_s = sum(attempt.speech.engine_s for attempt in attempts)
    best = min(attempts, key=lambda attempt: (attempt.verdict.badness(), attempt.number))
    if best.verdict.passed and best.verdict.unheard:
        warning = f"segment {index} was not read back: no recogniser of its worker knows the language"
        return Outcome(best, best.speech, len(attempts), engine_s, (UNHEARD,), warning)
    if best.verdict.passed:
        return Outcome(best, best.speech, len(attempts), engine_s)
    found = "; ".join(str(finding) for finding in best.verdict.findings)
    said = f"segment {index} did not pass the quality gate in {_times(len(attempts))}: {found}"
    # Samples that are no numbers cannot be stored, so nothing of them can be kept.
    is_audible = best.verdict.findings[0].defect is not Defect.NOT_FINITE
    match quality.on_exhausted:
        case OnExhausted.KEEP_BEST if is_audible:
            warning = f"{said}; attempt {best.number} was kept"
            return Outcome(best, best.speech, len(attempts), engine_s, best.verdict.flags, warning)
        case OnExhausted.KEEP_BEST | OnExhausted.SILENCE:
            warning = f"{said}; {silence_s:.1f} s of silence took its place"
            flags = (*best.verdict.flags, SILENCED)
            return Outcome(best, _silence(silence_s, best.speech, info), len(attempts), engine_s, flags, warning)
        case OnExhausted.FAIL:
            raise PermanentItemError(JobError(SEGMENT_QUALITY, said, index, spoken_in_vain=len(attempts)))


def _silence(seconds: float, instead_of: Speech, info: EngineInfo) -> Speech:
    """Without codec frames: nothing was spoken."""
    pcm = np.zeros(round(seconds * info.sample_rate_hz), np.float32)
    frames = np.zeros((0, info.num_codebooks), np.int16)
    return replace(instead_of, pcm=pcm, frames=frames)


def _times(number: int) -> str:
    return "one attempt" if number == 1 else f"{number} attempts"
