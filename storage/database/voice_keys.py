"""Every Redis key of voices, their caches and consents; `database.keys` has the root of all."""

from __future__ import annotations

from storage.database.keys import RedisKeys
from storage.ids import ConsentId, ContentKey, TenantId, VoiceId

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
    "consent": "hash: the consent's record",
    "consents": "sorted set per tenant: every consent's id, in order of the ids",
    "cited": "set per consent: the voices that rest on it",
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

    def consent(self, consent: ConsentId) -> str:
        return f"{self.root}:consent:{consent}"

    def consents(self, tenant: TenantId) -> str:
        return f"{self.root}:consents:{tenant}"

    def cited(self, consent: ConsentId) -> str:
        return f"{self.root}:cited:{consent}"

    @property
    def garbage(self) -> str:
        return f"{self.root}:garbage"
