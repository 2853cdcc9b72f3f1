"""Every Redis key of voices and their caches; `database.keys` has the root of all."""

from __future__ import annotations

from storage.database.keys import RedisKeys
from storage.ids import ContentKey, TenantId, VoiceId

SUBROOT = ":v"

FAMILIES = {
    "voice": "hash: the voice's record",
    "names": "hash per tenant: folded name -> voice",
    "voices": "sorted set per tenant: every voice id, in order of the ids",
    "gone": "string per deleted voice: its tenant, for 7 days",
    "caches": "hash per voice: mode|model -> content",
    "cache_list": "sorted set per tenant: voice|mode|model of every cache, in this order",
    "build": "hash per content: what is served and what is being done about it; exists while it has users",
    "users": "set per content: voice|mode|model of the caches that are of it",
}
SINGLES = {"garbage": "sorted set: k|<object key> or c|tenant|content|fence -> when it may be deleted, Unix ms"}


class VoiceKeys:
    def __init__(self, prefix: str) -> None:
        self.root = f"{RedisKeys(prefix).root}{SUBROOT}"

    def voice(self, voice: VoiceId) -> str:
        return f"{self.root}:voice:{voice}"

    def names(self, tenant: TenantId) -> str:
        return f"{self.root}:names:{tenant}"

    def voices(self, tenant: TenantId) -> str:
        return f"{self.root}:voices:{tenant}"

    def gone(self, voice: VoiceId) -> str:
        return f"{self.root}:gone:{voice}"

    def caches(self, voice: VoiceId) -> str:
        return f"{self.root}:caches:{voice}"

    def cache_list(self, tenant: TenantId) -> str:
        return f"{self.root}:cache_list:{tenant}"

    def build(self, content: ContentKey) -> str:
        return f"{self.root}:build:{content}"

    @property
    def garbage(self) -> str:
        return f"{self.root}:garbage"
