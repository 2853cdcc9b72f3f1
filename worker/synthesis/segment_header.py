"""What a segment's file says of where its speech comes from. Pure."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from storage.jobs.work_items import ClaimedItem
from storage.segments.file import SegmentHeader
from worker.engine.interface import EngineInfo
from worker.synthesis.attempts import SegmentOutcome
from worker.synthesis.segment_reuse import voice_fingerprint
from worker.synthesis.spoken_segment import SpokenSegment

_MOST_WORDS, _LONGEST_WORD = 16, 64


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
