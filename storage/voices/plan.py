"""The voices of a `voice_cache` job, as JSON lines in the store: item `i` of the job prepares entry `i`."""

from __future__ import annotations

import json
from collections.abc import Iterable

from pydantic import TypeAdapter, ValidationError

from reading.plan.plan import PlanFormatError
from storage.narration.voice_reference import VoiceReference

VOICE_PLAN_FORMAT = 1

_HEAD = json.dumps({"voice_plan_format": VOICE_PLAN_FORMAT}).encode()

_VOICE: TypeAdapter[VoiceReference] = TypeAdapter(VoiceReference)


def encode_voice_plan(voices: Iterable[VoiceReference]) -> bytes:
    return b"\n".join((_HEAD, *(_VOICE.dump_json(voice) for voice in voices))) + b"\n"


def decode_voice_plan(data: bytes) -> tuple[VoiceReference, ...]:
    """Raises `PlanFormatError` for anything `encode_voice_plan` did not write."""
    head, *rest = data.splitlines()
    if head != _HEAD:
        raise PlanFormatError(f"not a list of voices: {head[:80]!r}")
    try:
        return tuple(_VOICE.validate_json(line) for line in rest)
    except ValidationError as error:
        raise PlanFormatError(f"not a list of voices: {error}") from error
