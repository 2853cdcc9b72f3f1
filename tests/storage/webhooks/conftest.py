from __future__ import annotations

import pytest
import redis

from tests.storage.webhooks.world import WebhookWorld


@pytest.fixture
def world(redis_client: redis.Redis) -> WebhookWorld:
    return WebhookWorld(redis_client)
