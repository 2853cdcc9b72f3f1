"""What is recorded of a segment: its file's header, its report, and the content by which others reuse it. Pure."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from reading.languages.names import AUTO_LANGUAGE
from rhapsode.contract.jobs.input import InnerPauses, Pauses
from rhapsode.contract.jobs.options import Reproducibility
from rhapsode.contract.jobs.quality import SEGMENT_QUALITY
from storage.job_store.segment_reuse import SegmentContent
from storage.jobs.work_items import ClaimedItem
from storage.segments.edits import FIRST_TAKE
from storage.segments.file import SegmentHeader
from storage.segments.results import SegmentReport
from worker.engine.interface import EngineInfo
from worker.speech.postprocessing.interface import StoredSpeech
from worker.speech.postprocessing.sentence_ends import SentencePauses
from worker.synthesis.attempts import SegmentOutcome
from worker.synthesis.spoken_segment import SpokenSegment

_MOST_WORDS, _LONGEST_WORD = 16, 64
_ALIGNED = ("english", AUTO_LANGUAGE)
"""Languages whose sentences can be found in speech; of an unnamed one it is tried."""


class SpeechSource(NamedTuple):
    """What is said of the engine. Its whole `EngineInfo` may hold thousands of numbers."""

    revision: str
    config_sha256: str


def segment_header(
    item: ClaimedItem, segment: SpokenSegment, outcome: SegmentOutcome, info: EngineInfo | SpeechSource
) -> SegmentHeader:
    """Of what the segment became; of a rejected take, an outcome that keeps it."""
    kept = outcome.kept
    is_spoken = outcome.speech is kept.speech
    return SegmentHeader(
        job=item.lease.job,
        index=segment.index,
        fence=item.lease.fence,
        text_sha256=hashlib.sha256(segment.text.encode()).hexdigest(),
        seed=kept.manner.seed,
        finish_reason=kept.speech.finish_reason.value,
        model=item.narration.model,
        revision=info.revision,
        sample_rate_hz=outcome.speech.sample_rate_hz,
        voice=voice_fingerprint(item, segment, info.revision),
        speaker=segment.speaker,
        language=segment.language,
        attempt=kept.manner.number if is_spoken else 0,
        take=segment.take,
        checks=kept.verdict.checks,
        flags=outcome.flags,
        loudness_lufs=kept.verdict.loudness_lufs if is_spoken else None,
        config_sha256=info.config_sha256,
        guessed=tuple(word for word in kept.speech.guessed if len(word) <= _LONGEST_WORD)[:_MOST_WORDS],
        tried=tuple(attempt.tried for attempt in outcome.attempts),
    )


def segment_report(
    header: SegmentHeader,
    stored: StoredSpeech,
    segment: SpokenSegment,
    reuse_id: str,
    outcome: SegmentOutcome | None = None,
) -> SegmentReport:
    """reuse_id: of the content, "" if no other job may have it. outcome: None for a segment that was copied."""
    return SegmentReport(
        num_samples=stored.num_samples,
        sample_rate_hz=header.sample_rate_hz,
        num_chars=segment.num_chars,
        sha256=stored.sha256,
        stored_bytes=stored.num_bytes,
        place=stored.place,
        finish_reason=header.finish_reason,
        engine_ms=round(outcome.engine_s * 1000) if outcome else 0,
        seed=header.seed,
        attempts=len(outcome.attempts) if outcome else 0,
        reused=outcome is None,
        take=segment.take,
        loudness_lufs=header.loudness_lufs,
        flags=header.flags,
        guessed=header.guessed,
        warning=outcome.warning if outcome else "",
        warning_code=outcome.warning_code if outcome else SEGMENT_QUALITY,
        # What did not pass is nothing to offer to others.
        reuse_id="" if header.flags else reuse_id,
    )


def reusable_content(item: ClaimedItem, segment: SpokenSegment, info: EngineInfo) -> SegmentContent | None:
    """What another job's segment must be to stand for this one; None if there is no speech, or for another take."""
    if not segment.text or segment.take != FIRST_TAKE:
        return None
    spec = item.narration
    chosen = spec.request.seed if spec.seed_fixed else None
    pauses = sentence_pauses(spec.request.pauses, segment)
    return SegmentContent(
        tenant=item.lease.tenant,
        text=segment.text,
        voice=voice_fingerprint(item, segment, info.revision),
        model=spec.model,
        revision=info.revision,
        language=segment.language,
        instructions=segment.instructions,
        sampling=spec.request.sampling,
        seed=chosen if segment.own_seed is None else segment.own_seed,
        occurrence=segment.occurrence,
        gate=spec.request.quality.gate,
        configuration=info.config_sha256 if spec.request.reproducibility is Reproducibility.STRICT else "",
        inner_pause_s=None if pauses is None else pauses.pause_s,
    )


def voice_fingerprint(item: ClaimedItem, segment: SpokenSegment, revision: str) -> str:
    """The model's own voice by name, an uploaded one by its content key."""
    own = segment.own_voice
    return own.content(item.lease.tenant, revision) if own else segment.voice


def sentence_pauses(pauses: Pauses, segment: SpokenSegment) -> SentencePauses | None:
    """None for those that the model speaks."""
    if pauses.inside is InnerPauses.SPOKEN or len(segment.sentences) < 2:
        return None
    if segment.language.casefold() not in _ALIGNED:
        return None
    return SentencePauses(segment.sentences, pauses.sentence_s)
