"""A job store on the test's Valkey whose clock the test sets."""

from __future__ import annotations

import pytest
import redis

from storage.job_store.store import JobStore
from tests.storage.job_store.job_driver import Clock, open_store


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(redis_client: redis.Redis, clock: Clock) -> JobStore:
    """Depends on the clock, which has to be set before the first call."""
    return open_store(redis_client)
