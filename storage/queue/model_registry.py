"""What can be asked for: the models that workers announce, in Redis, for the API to list and validate against."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

import redis
from pydantic import TypeAdapter

from rhapsode.contract.jobs.input import MAX_SEGMENT_CHARS

AWAY_MS = 120_000
"""Workers announce their model every 30 s; so far behind another model's card, a card has no worker."""


@dataclass(frozen=True, slots=True)
class ModelCard:
    """A model as a worker serves it.

    task: what it speaks from ("custom_voice", "voice_design", "base"). speakers: built-in voices; empty if the model
    has none. languages: without "auto". samples_per_frame: PCM samples of one codec frame. max_text_tokens: of one
    request's text; four tokens of an instruction take at most the room of one of these. max_text_chars: the longest
    text that it was made for, in speech units; a card from before this field names no bound. text_front_end: "words"
    for one that wants numbers written out, else "raw". segmentation: "sentence" for one whose sentences are spoken one
    by one, else "packed". accepts_instructions: whether a job may say how to speak; a card from before this field says
    no, until its worker is of this release. has_sampling: whether seed and sampling change its speech. notice: what
    listeners must know. speaker_dim: values of a speaker embedding. voice_modes: how it clones ("x_vector",
    "in_context"); empty if it does not. recognised_languages: what its workers can read back, for the quality gate
    `asr`. blends_speakers: whether a voice may be several of `speakers` with weights, as `one(2)+other`.
    takes_whole_jobs: whether its workers end a job of one segment with that segment; a card from before this field says
    no, and such a job is planned by an item. is_strict: whether the worker that announces it gives a request equal
    codes in every batch. strict_at_ms: when such a worker last did; the registry sets it. updated_at_ms: the Redis
    server's clock when a worker last announced it; the registry sets it.
    """

    name: str
    revision: str
    task: str
    speakers: tuple[str, ...]
    languages: tuple[str, ...]
    default_language: str | None
    sample_rate_hz: int
    samples_per_frame: int
    num_codebooks: int
    max_text_tokens: int
    max_text_chars: int = MAX_SEGMENT_CHARS
    text_front_end: str = "raw"
    segmentation: str = "packed"
    accepts_instructions: bool = False
    has_sampling: bool = True
    notice: str = ""
    speaker_dim: int = 0
    voice_modes: tuple[str, ...] = ()
    recognised_languages: tuple[str, ...] = ()
    blends_speakers: bool = False
    takes_whole_jobs: bool = False
    is_strict: bool = False
    strict_at_ms: int = 0
    updated_at_ms: int = 0

    @property
    def runs_strict(self) -> bool:
        """Whether a worker is there that does, as far as cards tell."""
        return self.strict_at_ms > 0 and self.updated_at_ms - self.strict_at_ms <= AWAY_MS


_CARD = TypeAdapter(ModelCard)


def served_models(cards: Sequence[ModelCard]) -> tuple[ModelCard, ...]:
    """The models that have workers, as far as cards tell: those seen about as lately as the one seen last.

    Compared with each other and not with the clock: while no worker at all is there, the queue waits for those that
    were last.
    """
    newest_ms = max((card.updated_at_ms for card in cards), default=0)
    return tuple(card for card in cards if newest_ms - card.updated_at_ms <= AWAY_MS)


class ModelRegistry:
    """One hash, a field a model, and one of those that strict workers announced: a model's workers need not be alike.

    A card stays when its workers leave: what waits in the queue is still valid.
    """

    def __init__(self, redis: redis.Redis, key_prefix: str = "rhapsode") -> None:
        self._redis = redis
        self._key = f"{key_prefix}:models"
        self._strict_key = f"{key_prefix}:strict:models"
        self._speakers_key = f"{key_prefix}:speakers:models"

    def publish(self, card: ModelCard, embeddings: Sequence[Sequence[float]] = ()) -> None:
        """Announce or refresh a card; workers repeat this while they live. Raises `StoreUnavailable`.

        embeddings: of the card's speakers, in their order, if the model speaks with embeddings. They are not part of
        the card, which every process reads each second.
        """
        seconds, microseconds = self._redis.time()
        now_ms = int(seconds) * 1000 + int(microseconds) // 1000
        announced = dataclasses.replace(card, updated_at_ms=now_ms)
        pipeline = self._redis.pipeline(transaction=False)
        pipeline.hset(self._key, card.name, json.dumps(dataclasses.asdict(announced)))
        for speaker, values in zip(card.speakers, embeddings, strict=bool(embeddings)):
            pipeline.hset(self._speakers_key, f"{card.name}/{speaker}", json.dumps([card.revision, *values]))
        if card.is_strict:
            pipeline.hset(self._strict_key, card.name, now_ms)
        pipeline.execute()

    def list(self) -> tuple[ModelCard, ...]:
        """Every model ever announced, by name. Raises `StoreUnavailable`."""
        pipeline = self._redis.pipeline(transaction=False)
        pipeline.hgetall(self._key)
        pipeline.hgetall(self._strict_key)
        cards, strict = cast("list[dict[str, str]]", pipeline.execute())
        return tuple(_card(cards[name], strict.get(name, "0")) for name in sorted(cards))

    def get(self, name: str) -> ModelCard | None:
        pipeline = self._redis.pipeline(transaction=False)
        pipeline.hget(self._key, name)
        pipeline.hget(self._strict_key, name)
        card, strict_at_ms = cast("list[str | None]", pipeline.execute())
        return None if card is None else _card(card, strict_at_ms or "0")

    def speaker_embedding(self, card: ModelCard, speaker: str) -> tuple[float, ...] | None:
        """Of a built-in speaker as the card spells it; None if no worker of this checkpoint has reported. Raises
        `StoreUnavailable`.
        """
        text = cast("str | None", self._redis.hget(self._speakers_key, f"{card.name}/{speaker}"))
        if text is None:
            return None
        revision, *values = json.loads(text)
        return tuple(values) if revision == card.revision else None


@lru_cache(maxsize=256)
def _card(text: str, strict_at_ms: str) -> ModelCard:
    """Equal texts give the same immutable card: every look reads all of them.

    A worker of a later release may say more than is known here.
    """
    return dataclasses.replace(_CARD.validate_json(text), strict_at_ms=int(strict_at_ms))
