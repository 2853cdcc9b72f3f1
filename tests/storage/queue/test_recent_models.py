from __future__ import annotations

from dataclasses import replace

import redis

from storage.queue.model_registry import ModelRegistry
from storage.queue.recent_models import RecentModels
from tests.api.harness import SMALL


def test_what_was_seen_is_told_without_a_question(redis_client: redis.Redis) -> None:
    recent, registry = RecentModels(redis_client), ModelRegistry(redis_client)
    registry.publish(SMALL)
    assert recent.list() == ()
    recent.look()
    assert [card.name for card in recent.list()] == [SMALL.name]
    registry.publish(replace(SMALL, name="newer"))
    assert [card.name for card in recent.list()] == [SMALL.name]
    newer = recent.get("newer")
    assert newer is not None
    assert newer.name == "newer"
