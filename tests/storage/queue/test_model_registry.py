from __future__ import annotations

import dataclasses
import json
import math
import time

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from rhapsode.contract.jobs.input import MAX_SEGMENT_CHARS
from storage.database.redis_errors import StateRedis
from storage.errors import StoreUnavailable
from storage.queue.model_registry import AWAY_MS, ModelCard, ModelRegistry, served_models

CARD = ModelCard(
    name="small-voice",
    revision="abc123",
    task="custom_voice",
    speakers=("vivian", "ryan"),
    languages=("english", "中文"),
    default_language="english",
    sample_rate_hz=24_000,
    samples_per_frame=1_920,
    num_codebooks=16,
    max_text_tokens=4_096,
    accepts_instructions=True,
    notice="An artificial voice.",
)


def test_an_announced_model_is_listed_with_the_servers_time(redis_client: redis.Redis) -> None:
    registry = ModelRegistry(redis_client)

    before_s = time.time()
    registry.publish(CARD)

    card = registry.get("small-voice")
    assert card is not None
    assert dataclasses.replace(card, updated_at_ms=0) == CARD
    assert math.floor(before_s) <= card.updated_at_ms / 1000 <= time.time()
    assert registry.list() == (card,)


def test_a_later_announcement_replaces_the_earlier(redis_client: redis.Redis) -> None:
    registry = ModelRegistry(redis_client)
    registry.publish(CARD)

    registry.publish(dataclasses.replace(CARD, revision="def456"))

    assert [card.revision for card in registry.list()] == ["def456"]


def test_models_are_listed_by_name(redis_client: redis.Redis) -> None:
    registry = ModelRegistry(redis_client, "other-prefix")
    for name in ("b", "c", "a"):
        registry.publish(dataclasses.replace(CARD, name=name))

    assert [card.name for card in registry.list()] == ["a", "b", "c"]
    assert ModelRegistry(redis_client).list() == ()


def test_a_card_from_before_instructions_were_announced_takes_none(redis_client: redis.Redis) -> None:
    fields = dataclasses.asdict(CARD)
    del fields["accepts_instructions"]
    redis_client.hset("rhapsode:models", CARD.name, json.dumps(fields))

    assert ModelRegistry(redis_client).get(CARD.name) == dataclasses.replace(CARD, accepts_instructions=False)


def test_a_card_from_before_texts_had_a_length_names_no_bound(redis_client: redis.Redis) -> None:
    fields = dataclasses.asdict(CARD)
    del fields["max_text_chars"]
    redis_client.hset("rhapsode:models", CARD.name, json.dumps(fields))

    assert ModelRegistry(redis_client).get(CARD.name) == dataclasses.replace(CARD, max_text_chars=MAX_SEGMENT_CHARS)


def test_what_a_later_release_says_of_its_model_is_passed_over(redis_client: redis.Redis) -> None:
    redis_client.hset("rhapsode:models", CARD.name, json.dumps(dataclasses.asdict(CARD) | {"colour": "blue"}))

    assert ModelRegistry(redis_client).get(CARD.name) == CARD


def test_models_far_behind_the_one_seen_last_have_no_worker() -> None:
    newest, near, away = (
        dataclasses.replace(CARD, name=name, updated_at_ms=10 * AWAY_MS - age_ms)
        for name, age_ms in (("newest", 0), ("near", AWAY_MS), ("away", AWAY_MS + 1))
    )

    assert served_models((away, near, newest)) == (near, newest)
    assert served_models((away,)) == (away,)
    assert served_models(()) == ()


def test_an_unknown_model_is_none(redis_client: redis.Redis) -> None:
    assert ModelRegistry(redis_client).get("nobody") is None


def test_a_dead_server_is_an_unavailable_store() -> None:
    nowhere = StateRedis(unix_socket_path="/nowhere/v.sock", retry=Retry(NoBackoff(), 0))
    with nowhere as client, pytest.raises(StoreUnavailable):
        ModelRegistry(client).list()
