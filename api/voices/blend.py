"""A voice between others: their speaker embeddings, mixed by weight."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

from api.http.problems.problem import (
    FieldViolation,
    HttpProblem,
    invalid,
    invalid_field,
    name_taken,
    not_ready,
    problem,
)
from api.services.container import ApiServices
from api.voices.consent import actor_of
from api.voices.creation import embedding_model, or_discard, put_embedding
from api.voices.embedding import embedding_of
from api.voices.embedding_input import pack_embedding
from api.voices.matching import built_in_speaker, find_own_voice, speaker_of
from rhapsode.contract.voices.voices import BlendOrder
from storage.ids import TenantId, new_voice_id
from storage.queue.model_registry import ModelCard
from storage.voices.records import Consent, VoiceCreation, VoiceRecord

Vector = tuple[float, ...]

PARALLEL_COSINE = 0.9995
"""So nearly parallel that the arc's formula would divide by almost nothing: the chord is the same to six digits."""


def blend_voices(services: ApiServices, tenant: TenantId, order: BlendOrder) -> VoiceRecord:
    """Raises a `HttpProblem`, also for embeddings of different sizes, or a `StorageError`."""
    if speaker := built_in_speaker(order.name, services.models.list()):
        raise name_taken(f"{speaker!r} is a built-in voice")
    _refuse_named_blend(order, services.models.list())
    card = embedding_model(services.models.list(), order.model)
    parts = [_part(services, tenant, part.voice, index, card) for index, part in enumerate(order.voices)]
    vectors = [part.vector for part in parts]
    if unfit := [index for index, vector in enumerate(vectors) if len(vector) != card.speaker_dim]:
        raise invalid([_wrong_dimension(index, len(vectors[index]), card.speaker_dim) for index in unfit])
    weights = [part.weight for part in order.voices]
    mixed = slerp(vectors, weights) if order.method == "slerp" else lerp(vectors, weights)
    voice = new_voice_id()
    source = put_embedding(services, tenant, voice, pack_embedding(mixed, card), card)
    wanted = VoiceCreation(
        id=voice,
        tenant=tenant,
        name=order.name,
        source=source,
        description=order.description,
        consent=_inherited(parts, tenant),
        metadata={
            f"blend.{index}": f"{weight:g} {part.id}"
            for index, (part, weight) in enumerate(zip(parts, weights, strict=True))
        },
    )
    return or_discard(services, source, lambda: services.voices.create(wanted))


def _refuse_named_blend(order: BlendOrder, cards: Sequence[ModelCard]) -> None:
    """Raises a `HttpProblem` for voices of a model that blends them by a name."""
    spelled = "+".join(f"{part.voice}({part.weight:g})" for part in order.voices)
    for card in cards:
        if order.model in (None, card.name) and speaker_of(spelled, card):
            detail = f"{card.name} blends its voices by name, in jobs and live speech: use the voice {spelled}"
            raise invalid_field("/voices", "not_supported", detail)


@dataclass(frozen=True, slots=True)
class _Part:
    """id: of a voice of the caller's, or the name of one of the model's. consent: None for one of the model's."""

    id: str
    name: str
    vector: Vector
    consent: Consent | None


def _part(services: ApiServices, tenant: TenantId, wanted: str, index: int, card: ModelCard) -> _Part:
    """The model's own voices go before the caller's, as in jobs. Raises a `HttpProblem`."""
    if speaker := built_in_speaker(wanted, [card]):
        return _Part(speaker, speaker, _built_in_vector(services, speaker, index, card), None)
    record = find_own_voice(services.voices, tenant, wanted)
    if record is not None:
        return _Part(record.id, record.name, _vector(services, record, index, card.name), record.consent)
    pointer = f"/voices/{index}/voice"
    for other in services.models.list():
        if speaker := built_in_speaker(wanted, [other]):
            detail = f"{speaker} is a voice of {other.name}, and no other model knows its embedding; not of {card.name}"
            raise invalid_field(pointer, "wrong_model", detail)
    raise problem("voice_not_found", f"there is no voice {wanted[:64]!r}")


def _built_in_vector(services: ApiServices, speaker: str, index: int, card: ModelCard) -> Vector:
    values = services.models.speaker_embedding(card, speaker)
    if values is None:
        detail = f"no worker of {card.name} has published the embedding of {speaker} yet; a worker of this release does"
        raise not_ready(detail, 5.0, f"/voices/{index}/voice")
    return values


def lerp(vectors: Sequence[Vector], weights: Sequence[float]) -> Vector:
    """The weighted mean. Weights are positive and need not add up to one."""
    total = math.fsum(weights)
    return tuple(
        math.fsum(weight * value for weight, value in zip(weights, values, strict=True)) / total
        for values in zip(*vectors, strict=True)
    )


def slerp(vectors: Sequence[Vector], weights: Sequence[float]) -> Vector:
    """Along the arc between the directions, one vector after the other; the length is the weighted mean of lengths.

    Shoemake 1985. Raises a `HttpProblem` for directions that are opposite: there is no arc between them.
    """
    direction = _unit(vectors[0])
    weight = weights[0]
    for vector, more in zip(vectors[1:], weights[1:], strict=True):
        weight += more
        direction = _on_arc(direction, _unit(vector), more / weight)
    length = math.fsum(w * math.hypot(*v) for v, w in zip(vectors, weights, strict=True)) / math.fsum(weights)
    return tuple(length * value for value in direction)


def _on_arc(start: Vector, end: Vector, share: float) -> Vector:
    cosine = math.fsum(a * b for a, b in zip(start, end, strict=True))
    if cosine > PARALLEL_COSINE:
        return _unit(lerp((start, end), (1 - share, share)) if 0 < share < 1 else (end if share else start))
    if cosine < -PARALLEL_COSINE:
        raise invalid_field("/method", "not_possible", "two of the voices are opposite; use lerp")
    angle = math.acos(cosine)
    a, b = math.sin((1 - share) * angle) / math.sin(angle), math.sin(share * angle) / math.sin(angle)
    return tuple(a * x + b * y for x, y in zip(start, end, strict=True))


def _unit(vector: Vector) -> Vector:
    length = math.hypot(*vector)
    return tuple(value / length for value in vector)


def _vector(services: ApiServices, record: VoiceRecord, index: int, model: str) -> Vector:
    try:
        return embedding_of(services, record, model).values
    except HttpProblem as problem:
        # Its own pointer is of another request's body.
        violation = FieldViolation(problem.code, problem.detail, pointer=f"/voices/{index}/voice")
        raise problem.at([violation]) from problem


def _wrong_dimension(index: int, found: int, wanted: int) -> FieldViolation:
    return FieldViolation("wrong_dimension", f"has {found} numbers, not {wanted}", pointer=f"/voices/{index}/voice")


def _inherited(parts: Sequence[_Part], tenant: TenantId) -> Consent:
    """The speakers consented, or came with the model. The blend names their consents."""
    statements = [
        f"{part.name}: {part.consent.statement if part.consent else 'comes with the model'}" for part in parts
    ]
    return Consent("; ".join(statements)[:4_000], actor_of(tenant), round(time.time() * 1000))
