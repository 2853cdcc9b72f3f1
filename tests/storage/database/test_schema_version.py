from __future__ import annotations

import pytest
import redis

from storage.database.keys import RedisKeys
from storage.database.layout import LAYOUT
from storage.database.schema_version import LayoutMismatch, agree_on_layout


def test_every_process_of_a_version_agrees(redis_client: redis.Redis) -> None:
    agree_on_layout(redis_client, "rhapsode")
    agree_on_layout(redis_client, "rhapsode")

    assert redis_client.get(RedisKeys("rhapsode").single("layout")) == str(LAYOUT)


def test_state_of_another_layout_is_left_alone(redis_client: redis.Redis) -> None:
    redis_client.set(RedisKeys("rhapsode").single("layout"), "7")

    with pytest.raises(LayoutMismatch, match="holds jobs in layout 7, and this version has layout"):
        agree_on_layout(redis_client, "rhapsode")

    assert redis_client.get(RedisKeys("rhapsode").single("layout")) == "7"
    agree_on_layout(redis_client, "another")
