"""A voice as a job names it, and what the content of its cache depends on. Pure.

Caches are addressed by content. Two voices with equal content share one build. A changed recording or model is
different content, so no old revision is ever served.
"""

from __future__ import annotations

import enum
import hashlib
import json
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rhapsode.contract.voices.modes import CacheMode, IfCacheMissing
from storage.ids import ContentKey, VoiceId

if TYPE_CHECKING:
    # A job's spec holds these values, so that module cannot be imported while this one is.
    from storage.ids import TenantId

PROMPT_FORMAT = 1
"""Raised when the same recording has to become another prompt: every cache of before is then stale."""

EMBEDDING_BYTES_PER_VALUE = 4


class SourceKind(enum.StrEnum):
    RECORDING = "recording"
    """A wav, flac, mp3 or ogg file as it was uploaded."""

    EMBEDDING = "embedding"
    """Raw little-endian float32, shape (D,)."""


@dataclass(frozen=True, slots=True)
class VoiceSource:
    """What a voice was made from, in the object store.

    media_type: of the object, for downloads. model: the model that an embedding belongs to; "" for a recording, which
    fits every model that clones. duration_s: of what is used of a recording. repairs: what was done to it for that.
    """

    kind: SourceKind
    key: str
    sha256: str
    bytes: int
    media_type: str
    model: str = ""
    duration_s: float | None = None
    repairs: tuple[str, ...] = ()

    @property
    def num_values(self) -> int:
        """D of an embedding."""
        return self.bytes // EMBEDDING_BYTES_PER_VALUE


@dataclass(frozen=True, slots=True)
class VoiceReference:
    """A voice as a job names it: everything a worker needs to find its cache or to do without one.

    voice: "" for an embedding that came with the request, of which no cache is kept; `consent` is then the
        statement that came with it. ref_text: what the recording says, "" in x-vector mode; a request may have replaced
        the voice's own.
    """

    voice: VoiceId
    name: str
    revision: int
    model: str
    mode: CacheMode
    source: VoiceSource
    ref_text: str = ""
    if_missing: IfCacheMissing = IfCacheMissing.COMPUTE
    consent: str = ""

    def content(self, tenant: TenantId, model_revision: str) -> ContentKey:
        """The content of this voice's cache for the checkpoint that a worker or a model card has."""
        return content_key(tenant, self.source.sha256, self.ref_text, self.mode, self.model, model_revision)


def content_key(
    tenant: TenantId, source_sha256: str, ref_text: str, mode: CacheMode, model: str, model_revision: str
) -> ContentKey:
    """The address of a cache.

    The tenant is part of it: what one has uploaded must not be noticed by another. `model_revision` is the digest of
    the checkpoint, speech tokenizer included.
    """
    parts = (tenant, source_sha256, normalised_ref_text(ref_text, mode), mode, model, model_revision, PROMPT_FORMAT)
    return ContentKey(hashlib.sha256(json.dumps(parts).encode()).hexdigest())


def normalised_ref_text(ref_text: str, mode: CacheMode) -> str:
    """NFC, every run of whitespace one space; nothing in x-vector mode, which does not read it."""
    if mode is CacheMode.X_VECTOR:
        return ""
    return " ".join(unicodedata.normalize("NFC", ref_text).split())


VOICE_COST_MS = 1_000
"""What preparing one voice costs a queue, in the audio that a GPU speaks meanwhile."""


@dataclass(frozen=True, slots=True)
class VoiceCacheSpec:
    """What a job of kind `voice_cache` asks for; its voices are in the object at its input key."""

    model: str
    model_revision: str
    num_voices: int
    rebuild: bool = False
