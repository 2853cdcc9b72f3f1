"""How often each tenant has asked, counted in Redis for all API processes together.

The window slides, so that a minute's worth cannot be had twice around its end.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import limits
import redis.asyncio
from limits.aio.storage import RedisStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter

from storage.availability import redis_errors_named
from storage.jobs import TenantId
from storage.redis_keys import RedisKeys


@dataclass(frozen=True, slots=True)
class RateState:
    """`amount` requests in `period_s` are allowed; `remaining` are left until at most `reset_s` from now."""

    amount: int
    period_s: int
    remaining: int
    reset_s: int
    is_admitted: bool


class RequestRates:
    """For the event loop."""

    def __init__(self, redis: redis.asyncio.Redis, key_prefix: str, limit: str) -> None:
        """limit: as `parse_limit` takes it."""
        # The library's own types know options that stand in an address only.
        pool: Any = redis.connection_pool
        prefix = f"{RedisKeys(key_prefix).root}:rate"
        storage = RedisStorage("async+redis://", implementation="redispy", key_prefix=prefix, connection_pool=pool)
        self._limiter = SlidingWindowCounterRateLimiter(storage)
        self._limit = limits.parse(limit)

    async def count(self, tenant: TenantId) -> RateState:
        """Count one request, unless it is one too many."""
        with redis_errors_named():
            is_admitted = await self._limiter.hit(self._limit, tenant)
            window = await self._limiter.get_window_stats(self._limit, tenant)
        return RateState(
            amount=self._limit.amount,
            period_s=self._limit.get_expiry(),
            remaining=max(0, window.remaining),
            reset_s=max(1, math.ceil(window.reset_time - time.time())),
            is_admitted=is_admitted,
        )


def parse_limit(text: str) -> str:
    """`text` itself, such as "600/minute" or "20 per 5 second". Raises `ValueError`."""
    limits.parse(text)
    return text
