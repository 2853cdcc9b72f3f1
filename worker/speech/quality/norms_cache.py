"""The norms of a job so far, read from a bounded sample of its results and kept for a while. Also the timbre of its
voices without calibration, from speech of this worker.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from dataclasses import dataclass, replace

from reading.plan.plan import Plan
from storage.ids import JobId
from storage.job_store.segment_reads import SegmentReader
from storage.segments.results import LEFT_OUT, SegmentResult
from storage.segments.timeline import MARGIN_S
from worker.speech.quality.expectation import DurationModel
from worker.speech.quality.job_norms import JobNorms, MeasuredSegment, job_norms
from worker.speech.quality.sound.timbre import Timbre, TimbreNorm, timbre_norm

SAMPLE = 64
"""Results read at a time, a new sample each time: enough for a median, whatever the length of the job."""

MAX_AGE_S = 20.0

UNKNOWN_AGE_S = 1.0
"""Of not knowing: a job finishes segments all the time, and while they are few they are quickly read."""

MAX_JOBS = 256
"""Of which norms are kept."""

MAX_TIMBRES = 64
"""The last of a voice in a job."""

Voice = tuple[JobId, str, str]
"""A job, a name of its cast, and the instructions it speaks under: who whispers sounds otherwise."""


@dataclass(frozen=True, slots=True)
class _Known:
    norms: JobNorms | None
    until_s: float


class NormsCache:
    """Thread-safe. Norms are of one speaker: a dialogue has as many paces as voices."""

    def __init__(self, results: SegmentReader, sample_rate_hz: int) -> None:
        self._results = results
        self._sample_rate_hz = sample_rate_hz
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[JobId, str], _Known] = OrderedDict()
        self._timbres: OrderedDict[Voice, deque[Timbre]] = OrderedDict()

    def heard(self, voice: Voice, timbre: Timbre) -> None:
        """Of an utterance that passed."""
        with self._lock:
            self._timbres.setdefault(voice, deque(maxlen=MAX_TIMBRES)).append(timbre)
            self._timbres.move_to_end(voice)
            while len(self._timbres) > MAX_JOBS:
                self._timbres.popitem(last=False)

    def timbre(self, voice: Voice) -> TimbreNorm | None:
        """None while too little of it was spoken."""
        with self._lock:
            heard = tuple(self._timbres.get(voice, ()))
        return timbre_norm(heard)

    def get(self, voice: Voice, plan: Plan, model: DurationModel | None) -> JobNorms | None:
        """None while too little is done. Raises `StoreUnavailable`."""
        job, speaker, _ = voice
        with self._lock:
            known = self._known.get((job, speaker))
        if known is None or time.monotonic() >= known.until_s:
            results = self._results.sample(job, SAMPLE)
            norms = job_norms(_heard(results, speaker, plan, self._sample_rate_hz), model)
            known = _Known(norms, time.monotonic() + (UNKNOWN_AGE_S if norms is None else MAX_AGE_S))
            with self._lock:
                self._known[job, speaker] = known
                self._known.move_to_end((job, speaker))
                while len(self._known) > MAX_JOBS:
                    self._known.popitem(last=False)
        return known.norms and replace(known.norms, timbre=self.timbre(voice))


def _heard(results: list[SegmentResult], speaker: str, plan: Plan, rate_hz: int) -> list[MeasuredSegment]:
    """Those of this speaker that are speech and passed."""
    return [
        MeasuredSegment(
            plan.segments[result.index].spoken_text,
            max(0.0, result.num_samples / rate_hz - 2 * MARGIN_S),
            result.loudness_lufs,
        )
        for result in results
        if not result.flags and result.finish_reason != LEFT_OUT and plan.segments[result.index].speaker == speaker
    ]
