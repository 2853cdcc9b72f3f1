"""A voice's record as the API shows it. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from api.http.links import LinkBuilder
from api.http.times import moment
from api.voices.matching import modes_of
from rhapsode.contract.voices import voices as voice_schemas
from storage.queue.model_registry import ModelCard, served_models
from storage.voices.records import VoiceRecord

_KOKORO = re.compile(r"([ab])([fm])_[a-z]+")
"""How Kokoro names its voices (VOICES.md of hexgrad/Kokoro-82M): by accent and sex."""


def own_voice(record: VoiceRecord, links: LinkBuilder, cards: Sequence[ModelCard]) -> voice_schemas.Voice:
    consent = record.consent
    return voice_schemas.Voice(
        id=record.id,
        kind="own",
        name=record.name,
        models=tuple(card.name for card in served_models(cards) if modes_of(record, card)),
        language=record.language,
        description=record.description,
        ref_text=record.ref_text,
        revision=record.revision,
        sample=voice_schemas.VoiceSample(
            kind=record.source.kind.value,
            media_type=record.source.media_type,
            duration_s=record.source.duration_s,
            repairs=record.source.repairs,
            bytes=record.source.bytes,
            sha256=record.source.sha256,
            url=links.voice_sample(record.id),
        ),
        consent=consent
        and voice_schemas.VoiceConsent(statement=consent.statement, actor=consent.actor, at=moment(consent.at_ms)),
        created_at=moment(record.created_at_ms),
        updated_at=moment(record.updated_at_ms),
        metadata=record.metadata,
        links=voice_schemas.VoiceLinks(
            self_=links.voice(record.id),
            sample=links.voice_sample(record.id),
            embedding=links.voice_embedding(record.id),
        ),
    )


def built_in_voices(cards: Sequence[ModelCard]) -> list[voice_schemas.Voice]:
    """One for each name, with the served models that have it."""
    served = served_models(cards)
    names = dict.fromkeys(speaker for card in served for speaker in card.speakers)
    return [built_in_voice(name, [card.name for card in served if name in card.speakers]) for name in names]


def built_in_voice(name: str, models: Sequence[str]) -> voice_schemas.Voice:
    return voice_schemas.Voice(
        id=None,
        kind="built_in",
        name=name,
        models=tuple(models),
        language="auto",
        description=_described(name),
        ref_text="",
        revision=1,
        sample=None,
        consent=None,
        created_at=None,
        updated_at=None,
        metadata={},
        links=None,
    )


def _described(name: str) -> str:
    """`af_heart`: "American woman". Names of another form say nothing."""
    if not (found := _KOKORO.fullmatch(name)):
        return ""
    accent, sex = found.groups()
    return f"{'American' if accent == 'a' else 'British'} {'woman' if sex == 'f' else 'man'}"
