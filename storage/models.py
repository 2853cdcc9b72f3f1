"""What can be asked for: the models that workers announce, in Redis, for the API to list and validate against."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass

import redis

from storage.availability import redis_errors_named

AWAY_MS = 120_000
"""Workers announce their model every 30 s; so far behind another model's card, a card has no worker."""


@dataclass(frozen=True, slots=True)
class ModelCard:
    """A model as a worker serves it.

    task: what it speaks from ("custom_voice", "voice_design", "base").
    speakers: built-in voices; empty if the model has none. languages: without "auto".
    samples_per_frame: PCM samples of one codec frame. max_text_tokens: of one request's text; four tokens of an
    instruction take at most the room of one of these. accepts_instructions: whether a job may say how to speak; a card
    from before this field says no, until its worker is of this release. notice: what a listener must be told, or "".
    speaker_dim: values of a speaker embedding. voice_modes: how it clones ("x_vector", "in_context"); empty if it does
    not. recognised_languages: what its workers can read back, for the quality gate `asr`.
    updated_at_ms: the Redis server's clock when a worker last announced it; the registry sets it.
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
    accepts_instructions: bool = False
    notice: str = ""
    speaker_dim: int = 0
    voice_modes: tuple[str, ...] = ()
    recognised_languages: tuple[str, ...] = ()
    updated_at_ms: int = 0


def served_models(cards: Sequence[ModelCard]) -> tuple[ModelCard, ...]:
    """The models that have workers, as far as cards tell: those seen about as lately as the one seen last.

    Compared with each other and not with the clock: while no worker at all is there, the queue waits for those that
    were last.
    """
    newest_ms = max((card.updated_at_ms for card in cards), default=0)
    return tuple(card for card in cards if newest_ms - card.updated_at_ms <= AWAY_MS)


class ModelRegistry:
    """One hash, a field a model. A card stays when its workers leave: what waits in the queue is still valid."""

    def __init__(self, redis: redis.Redis, key_prefix: str = "rhapsode") -> None:
        self._redis = redis
        self._key = f"{key_prefix}:models"

    def publish(self, card: ModelCard) -> None:
        """Announce or refresh a card; workers repeat this while they live. Raises `StoreUnavailable`."""
        with redis_errors_named():
            seconds, microseconds = self._redis.time()  # pyright: ignore[reportGeneralTypeIssues]
            now_ms = int(seconds) * 1000 + int(microseconds) // 1000
            announced = dataclasses.replace(card, updated_at_ms=now_ms)
            self._redis.hset(self._key, card.name, json.dumps(dataclasses.asdict(announced)))

    def list(self) -> tuple[ModelCard, ...]:
        """Every model ever announced, by name. Raises `StoreUnavailable`."""
        with redis_errors_named():
            cards = self._redis.hgetall(self._key)
        return tuple(_card(str(cards[name])) for name in sorted(cards))

    def get(self, name: str) -> ModelCard | None:
        with redis_errors_named():
            card = self._redis.hget(self._key, name)
        return None if card is None else _card(str(card))


def _card(text: str) -> ModelCard:
    fields = json.loads(text)
    lists = ("speakers", "languages", "voice_modes", "recognised_languages")
    return ModelCard(**fields | {name: tuple(fields.get(name, ())) for name in lists})
