"""The voices of a `voice_cache` job, as JSON lines in the store: item `i` of the job prepares entry `i`.

An entry is a voice there is, or one that the job makes from an uploaded recording before it prepares it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from reading.plan.plan import PlanFormatError
from rhapsode.contract.voices.modes import CacheMode
from storage.ids import UploadId, VoiceId
from storage.narration.voice_reference import VoiceReference
from storage.voices.records import Consent

VOICE_PLAN_FORMAT = 1

_HEAD = json.dumps({"voice_plan_format": VOICE_PLAN_FORMAT}).encode()


@dataclass(frozen=True, slots=True)
class ListedRecording:
    """A voice to be made from the tenant's upload `audio`. `voice` is drawn in advance, so that a repeat finds it.

    line: of the manifest, for errors. mode: how `model` is to speak with it.
    """

    voice: VoiceId
    name: str
    audio: UploadId
    line: int
    model: str
    mode: CacheMode
    consent: Consent
    ref_text: str = ""
    language: str = "auto"
    description: str = ""


PlannedVoice = VoiceReference | ListedRecording

_VOICE: TypeAdapter[PlannedVoice] = TypeAdapter(PlannedVoice)


def encode_voice_plan(voices: Iterable[PlannedVoice]) -> bytes:
    return b"\n".join((_HEAD, *(_VOICE.dump_json(voice) for voice in voices))) + b"\n"


def decode_voice_plan(data: bytes) -> tuple[PlannedVoice, ...]:
    """Raises `PlanFormatError` for anything `encode_voice_plan` did not write."""
    head, *rest = data.splitlines()
    if head != _HEAD:
        raise PlanFormatError(f"not a list of voices: {head[:80]!r}")
    try:
        return tuple(_VOICE.validate_json(line) for line in rest)
    except ValidationError as error:
        raise PlanFormatError(f"not a list of voices: {error}") from error
