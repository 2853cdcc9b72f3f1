"""A speaker embedding as callers send it: a list of numbers, raw float32, or an exported voice. Pure."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence

from api.http.problems.problem import HttpProblem, invalid_field
from storage.queue.model_registry import ModelCard
from storage.voices.cache_file import ArtifactFormatError, decode_artifact, tensor_values

EMBEDDING_FIELD = "speaker_embedding"
_POINTER = f"/{EMBEDDING_FIELD}"

MAX_EMBEDDING_MAGNITUDE = 1e4
"""Speaker embeddings have components of a few units; what is far beyond is another kind of number."""


def parse_embedding(data: bytes, card: ModelCard) -> bytes:
    """float32 (speaker_dim,), little-endian, from any of the forms. Raises a `HttpProblem`."""
    if data.lstrip()[:1] in (b"[", b"{") and (document := _json(data)) is not None:
        return pack_embedding(_listed(document, card), card)
    if len(data) == card.speaker_dim * 4:
        return pack_embedding(struct.unpack(f"<{card.speaker_dim}f", data), card)
    try:
        artifact = decode_artifact(data)
    except ArtifactFormatError as error:
        raise _none_of_them(f"these {len(data)} bytes are none of them", card) from error
    _require_model(artifact.header.model, card)
    return pack_embedding(tensor_values(artifact.x_vector), card)


def pack_embedding(values: Sequence[float], card: ModelCard) -> bytes:
    """float32 (speaker_dim,), little-endian. Raises a `HttpProblem` for numbers that are no embedding of this model."""
    if len(values) != card.speaker_dim:
        detail = f"{card.name} takes embeddings of {card.speaker_dim} numbers, not {len(values)}"
        raise invalid_field(_POINTER, "wrong_dimension", detail)
    # Comparisons with NaN are false.
    if not all(abs(value) <= MAX_EMBEDDING_MAGNITUDE for value in values) or not any(values):
        detail = f"must be finite, at most {MAX_EMBEDDING_MAGNITUDE:g} in size, and not all zero"
        raise invalid_field(_POINTER, "out_of_range", detail)
    return struct.pack(f"<{len(values)}f", *values)


def _json(data: bytes) -> object:
    """None for what is no JSON: raw numbers may begin like it."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _listed(document: object, card: ModelCard) -> list[float]:
    """A list as it is, or the `values` of what `GET /v1/voices/{id}/embedding` answers."""
    match document:
        case {"model": str(model), "values": list(values)}:
            _require_model(model, card)
        case list(values):
            pass
        case _:
            raise _none_of_them("this JSON is none of them", card)
    if all(type(value) in (int, float) for value in values):
        return values
    raise invalid_field(_POINTER, "wrong_type", f"a list of {card.speaker_dim} numbers holds nothing but numbers")


def _require_model(model: str, card: ModelCard) -> None:
    if model != card.name:
        raise invalid_field(_POINTER, "wrong_model", f"the embedding is of {model}, not of {card.name}")


def _none_of_them(found: str, card: ModelCard) -> HttpProblem:
    dim = card.speaker_dim
    detail = (
        f"{card.name} takes a JSON list of {dim} numbers, {4 * dim} bytes of little-endian float32, or an exported "
        f"voice (safetensors); {found}"
    )
    return invalid_field(_POINTER, "wrong_dimension", detail)
