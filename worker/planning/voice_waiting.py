"""The wait of a narration for its voice."""

from __future__ import annotations

from storage.errors import VoiceGone, VoiceNotFound
from storage.ids import TenantId
from storage.narration.voice_reference import VoiceReference
from storage.voices.records import CacheState, CacheTarget, VoiceCacheRecord
from worker.errors import NotYet, unusable
from worker.items.leases.keeper import HeldLease
from worker.items.leases.persistence import until_available
from worker.services import WorkerServices

LOOK_AGAIN_S = 0.5
"""How long an item waits for a cache that another worker builds: about as long as a build takes on a GPU."""


def wait_for_voice(voice: VoiceReference, held: HeldLease, services: WorkerServices) -> None:
    """Return once the voice's cache is ready.

    Raises `NotYet` while it is being built, and `PermanentItemError` when no worker is going to build it.
    """
    cache = until_available(held, _cache, voice, held.lease.tenant, services)
    match cache:
        case None:
            raise unusable(
                "voice_cache_not_ready", f"the cache of {voice.name} was dropped while the job waited for it"
            )
        case VoiceCacheRecord(state=CacheState.READY):
            return
        case VoiceCacheRecord(state=CacheState.FAILED, error=error):
            reason = error.detail if error else "unknown"
            raise unusable("voice_cache_failed", f"the voice {voice.name} could not be prepared: {reason}")
        case _:
            raise NotYet(LOOK_AGAIN_S)


def _cache(voice: VoiceReference, tenant: TenantId, services: WorkerServices) -> VoiceCacheRecord | None:
    try:
        caches = services.voice_store.caches(tenant, voice.voice)
    except (VoiceGone, VoiceNotFound) as error:
        raise unusable("voice_not_found", f"the voice {voice.name} was deleted meanwhile") from error
    wanted = CacheTarget(voice.voice, voice.model, voice.mode)
    return next((cache for cache in caches if cache.target == wanted), None)
