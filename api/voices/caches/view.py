"""A cache's record as the API shows it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from api.http.times import moment, optional_moment
from rhapsode.contract.voices.caches import Failure, ShownState, VoiceCache
from storage.queue.model_registry import ModelCard
from storage.voices.records import CacheState, VoiceCacheRecord


def shown_cache(cache: VoiceCacheRecord, cards: Sequence[ModelCard]) -> VoiceCache:
    artifact, error = cache.artifact, cache.error
    return VoiceCache(
        voice=cache.target.voice,
        model=cache.target.model,
        mode=cache.target.mode.value,
        state=shown_state(cache, cards),
        content=cache.content,
        model_revision=cache.model_revision,
        bytes=artifact.bytes if artifact else None,
        sha256=artifact.sha256 if artifact else None,
        error=Failure(code=error.code, detail=error.detail) if error else None,
        job=cache.job,
        attempts=cache.attempts,
        requested_at=moment(cache.requested_at_ms),
        finished_at=optional_moment(cache.finished_at_ms),
        build_s=None if cache.build_ms is None else cache.build_ms / 1000,
    )


def shown_state(cache: VoiceCacheRecord, cards: Sequence[ModelCard]) -> ShownState:
    """`stale` in place of `ready` once the model's workers have another checkpoint."""
    revisions = {card.name: card.revision for card in cards}
    is_current = revisions.get(cache.target.model, cache.model_revision) == cache.model_revision
    if cache.state is CacheState.READY and not is_current:
        return "stale"
    return cache.state.value
