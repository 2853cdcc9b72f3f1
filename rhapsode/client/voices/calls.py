"""Every request about voices as a value. No I/O: both clients send these.

Creating a voice is the one call whose repeat may be rejected. If only the first answer was lost, the repeat finds that
the name belongs to the voice it was to create.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import quote

import httpx
from pydantic import JsonValue

from rhapsode.client.calls import ApiCall, FormUpload, nothing, resource
from rhapsode.client.plain_json import json_object
from rhapsode.client.resources import Job
from rhapsode.contract.voices.voices import Voice, VoiceList

VoiceKind = Literal["own", "built_in"]


@dataclass(frozen=True, slots=True)
class NewVoiceFields:
    """Everything of a new voice but what it is made from.

    consent: the speaker's, as a statement that is kept with its time. Empty: the operator stated it for all.
    ref_text: what the recording says; with it the voice is cloned in context, without from its embedding alone.
    """

    name: str
    consent: str
    ref_text: str = ""
    language: str = "auto"
    description: str = ""

    def fields(self) -> dict[str, str]:
        return {name: said for name, said in asdict(self).items() if said or name != "consent"}


@dataclass(frozen=True, slots=True)
class VoiceFields:
    """What is None stays as it is."""

    name: str | None = None
    description: str | None = None
    metadata: Mapping[str, str] | None = None

    def body(self) -> dict[str, JsonValue]:
        return json_object({"name": self.name, "description": self.description, "metadata": self.metadata})


def add_voice(voice: NewVoiceFields, recording: Path) -> ApiCall[Voice]:
    """Raises OSError when the recording cannot be read."""
    upload = FormUpload(voice.fields(), "audio_sample", recording.read_bytes())
    return ApiCall("POST", "/v1/voices", resource(Voice), upload=upload, hold_s=_DECODING_S)


def add_embedding(voice: NewVoiceFields, embedding: bytes, model: str | None) -> ApiCall[Voice]:
    """embedding: little-endian float32, or a file that `embedding` gave."""
    fields = voice.fields() | ({"model": model} if model else {})
    return ApiCall("POST", "/v1/voices", resource(Voice), upload=FormUpload(fields, "speaker_embedding", embedding))


def replace_recording(voice: str, recording: Path, ref_text: str, consent: str) -> ApiCall[Voice]:
    upload = FormUpload({"ref_text": ref_text, "consent": consent}, "audio_sample", recording.read_bytes())
    return ApiCall("PUT", f"{voice_path(voice)}/sample", resource(Voice), upload=upload, hold_s=_DECODING_S)


def get_voice(voice: str) -> ApiCall[Voice]:
    return ApiCall("GET", voice_path(voice), resource(Voice))


def list_voices(kind: VoiceKind | None, page_size: int, cursor: str | None) -> ApiCall[VoiceList]:
    params = [("limit", str(page_size))]
    params += [("kind", kind)] if kind else []
    params += [("cursor", cursor)] if cursor else []
    return ApiCall("GET", "/v1/voices", resource(VoiceList), params=tuple(params))


def find_voice(name: str) -> ApiCall[VoiceList]:
    """A page with the voices of this name: one's own, a built-in one, or none."""
    return ApiCall("GET", "/v1/voices", resource(VoiceList), params=(("name", name),))


def change_voice(voice: str, changes: VoiceFields) -> ApiCall[Voice]:
    return ApiCall("PATCH", voice_path(voice), resource(Voice), body=changes.body())


def delete_voice(voice: str) -> ApiCall[None]:
    return ApiCall("DELETE", voice_path(voice), nothing)


@dataclass(frozen=True, slots=True)
class Preview:
    """What the voice is to say; None leaves it to the server."""

    text: str | None = None
    model: str | None = None
    language: str | None = None
    x_vector_only: bool = False
    seed: int | None = None

    def body(self) -> dict[str, JsonValue]:
        return json_object(asdict(self))


@dataclass(frozen=True, slots=True)
class Blend:
    """A new voice between others. weights: id or name -> its share. slerp keeps to the arc between the embeddings."""

    name: str
    weights: Mapping[str, float]
    method: Literal["slerp", "lerp"] = "slerp"
    model: str | None = None
    description: str = ""

    def body(self) -> dict[str, JsonValue]:
        voices = [{"voice": voice, "weight": weight} for voice, weight in self.weights.items()]
        said = {"name": self.name, "voices": voices, "method": self.method, "model": self.model}
        return json_object({**said, "description": self.description})


def preview_voice(voice: str, preview: Preview, idempotency_key: str) -> ApiCall[Job]:
    headers = {"Idempotency-Key": idempotency_key}
    return ApiCall("POST", f"{voice_path(voice)}/preview", resource(Job), headers=headers, body=preview.body())


def blend_voices(blend: Blend) -> ApiCall[Voice]:
    return ApiCall("POST", "/v1/voices/blend", resource(Voice), body=blend.body())


def get_embedding(voice: str, model: str | None) -> ApiCall[bytes]:
    params = (("model", model),) if model else ()
    return ApiCall("GET", f"{voice_path(voice)}/embedding", _content, params=params, headers=_AS_FILE)


def get_sample(voice: str) -> ApiCall[bytes]:
    return ApiCall("GET", f"{voice_path(voice)}/sample", _content, headers=_AS_FILE)


def voice_path(voice: str) -> str:
    return f"/v1/voices/{quote(voice, safe='')}"


_DECODING_S = 30.0
"""The server decodes the whole recording before it answers."""


_AS_FILE = {"Accept": "application/octet-stream"}


def _content(response: httpx.Response) -> bytes:
    return response.content
