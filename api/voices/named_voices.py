"""A voice as a path names it: one of the caller's by its id, or one that a model brings along by its name."""

from __future__ import annotations

from api.http.problems.problem import problem
from api.services.container import ApiServices
from api.voices.view import built_in_voices
from rhapsode.contract.voices.names import name_key
from rhapsode.contract.voices.voices import Voice
from storage.ids import VOICE_ID, TenantId, VoiceId
from storage.voices.records import VoiceRecord

NamedVoice = VoiceRecord | Voice
"""The caller's own, or a built-in voice."""


def find_named_voice(services: ApiServices, tenant: TenantId, name: str) -> NamedVoice:
    """Raises the `Problem` that there is none, or `VoiceGone`, `VoiceNotFound` or `StoreUnavailable`."""
    if VOICE_ID.fullmatch(name):
        return services.voices.get(tenant, VoiceId(name))
    for voice in built_in_voices(services.models.list()):
        if name_key(voice.name) == name_key(name):
            return voice
    raise problem(
        "voice_not_found",
        f"there is no voice {name[:64]!r}; ids begin with voc_, and models bring no voice of this name",
    )
