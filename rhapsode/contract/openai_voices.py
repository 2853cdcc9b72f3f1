"""Answers in the shapes of vLLM-Omni's speech API, for programs that were written for it."""

from __future__ import annotations

from typing import Literal

from rhapsode.contract.base import Answer
from rhapsode.contract.voices.caches import ShownState
from rhapsode.contract.voices.voices import Description, VoiceForm


class AudioVoiceForm(VoiceForm):
    """As of `POST /v1/voices`; `speaker_description` is its `description`."""

    speaker_description: Description = ""


class UploadedVoice(Answer):
    """`created_at`: Unix seconds. `ref_text` and `speaker_description` are left out where there are none."""

    name: str
    consent: str
    created_at: int
    file_size: int
    mime_type: str
    ref_text: str | None = None
    speaker_description: str | None = None


class NamedChoice(Answer):
    """`id`: what `voice` or `model` of `POST /v1/audio/speech` takes."""

    id: str
    name: str


class AudioVoices(Answer):
    """`voices`, and the same in `data`: every voice that can speak. `uploaded_voices`: the newest thousand of your own.

    With `?legacy=true`, `voices` and `data` are names.
    """

    voices: tuple[NamedChoice, ...] | tuple[str, ...]
    data: tuple[NamedChoice, ...] | tuple[str, ...]
    uploaded_voices: tuple[UploadedVoice, ...]


class AudioModels(Answer):
    """`models`, and the same in `data`: the models that a worker speaks with now."""

    models: tuple[NamedChoice, ...]
    data: tuple[NamedChoice, ...]


class AudioVoice(Answer):
    """`models`: those that speak with it. `alias_of`: the voice that this name stands for. `uploaded`: of your own.

    `cache`: how far its caches are, as `POST /v1/audio/voices/{name}/cache` says it; left out where none was ordered.
    """

    name: str
    models: tuple[str, ...]
    alias_of: str | None = None
    uploaded: UploadedVoice | None = None
    cache: ShownState | None = None


class AudioVoiceCreated(Answer):
    success: Literal[True] = True
    voice: UploadedVoice


class AudioVoiceDeleted(Answer):
    success: Literal[True] = True
    message: str


class AudioVoiceCached(Answer):
    """`status`: `ready` once every cache that was ordered is; else how far the last of them is."""

    success: Literal[True] = True
    voice: str
    status: ShownState


class OpenAiError(Answer):
    message: str
    type: str
    param: str | None
    code: str


class OpenAiErrorDocument(Answer):
    """For every answer of 400 and above under `/v1/audio/`."""

    error: OpenAiError
