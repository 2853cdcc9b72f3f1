from __future__ import annotations

import pytest
import redis

from tests.worker.webhooks.receivers import HookWorld


@pytest.fixture
def world(redis_client: redis.Redis) -> HookWorld:
    return HookWorld(redis_client)
