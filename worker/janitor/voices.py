"""The janitor's chores for voices: objects that nothing points at any more."""

from __future__ import annotations

import logging
import time
from itertools import groupby

from storage.errors import VoiceGone, VoiceNotFound
from storage.ids import ContentKey, TenantId, VoiceId
from storage.objects.store import ArtifactStore, ObjectEntry
from storage.voices.store import VoiceStore

logger = logging.getLogger("worker.janitor")

ORPHAN_AGE_S = 24 * 3600.0


class VoiceJanitor:
    """The chores, each callable on its own and safe to do twice."""

    def __init__(self, voices: VoiceStore, artifacts: ArtifactStore) -> None:
        self._voices = voices
        self._artifacts = artifacts

    def delete_discarded(self) -> None:
        """Replaced recordings and caches, once their last readers have had their time."""
        discarded = self._voices.discarded()
        for key in discarded.values():
            self._artifacts.delete(key)
        self._voices.forget_discarded(list(discarded))
        if discarded:
            logger.info("discarded voice objects removed", extra={"objects": len(discarded)})

    def sweep_recordings(self) -> None:
        """What a replacement or a deletion left because its process died.

        Recordings of a voice that Redis does not know are only reported. Redis may have lost data, and a recording
        cannot be made again.
        """
        for (_, tenant, voice), entries in groupby(
            self._artifacts.list("voices/"), lambda each: each.key.split("/")[:3]
        ):
            old = [entry for entry in entries if _is_old(entry)]
            for key in self._unwanted(TenantId(tenant), VoiceId(voice), old):
                self._artifacts.delete(key)
                logger.info("orphaned recording removed", extra={"key": key})

    def sweep_caches(self) -> None:
        """Caches that no voice names: of builders that died, or of builds that were refused. They can be made again."""
        for entry in self._artifacts.list("voice-caches/"):
            _, tenant, content, name = entry.key.split("/")
            served = self._voices.find_artifact(TenantId(tenant), ContentKey(content)) if _is_old(entry) else None
            if _is_old(entry) and (served is None or served.key != entry.key):
                self._artifacts.delete(entry.key)
                logger.info("orphaned voice cache removed", extra={"content": content, "file": name})

    def _unwanted(self, tenant: TenantId, voice: VoiceId, objects: list[ObjectEntry]) -> list[str]:
        keys = [entry.key for entry in objects]
        try:
            source = self._voices.get(tenant, voice).source.key if keys else ""
        except VoiceGone:
            return keys
        except VoiceNotFound:
            logger.warning("recordings of an unknown voice", extra={"voice_id": voice, "objects": len(keys)})
            return []
        return [key for key in keys if key != source]


def _is_old(entry: ObjectEntry) -> bool:
    return time.time() - entry.modified_at_s > ORPHAN_AGE_S
