"""Whose key it is and how often its tenant has asked: one question to Redis for all API processes together.

The window slides, so that a client cannot use two windows' worth around a boundary. Requests of the last whole window
count in proportion to its overlap with the period that ends now.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import limits
import redis.asyncio

from storage.database.functions import AsyncFunctions, Clock, Reply
from storage.database.redis_errors import redis_errors_named
from storage.ids import TenantId
from storage.tenants.api_keys import ApiKey, decode_key


@dataclass(frozen=True, slots=True)
class RateState:
    """`amount` requests in `period_s` are allowed; `remaining` are left, and more in `reset_s`."""

    amount: int
    period_s: int
    remaining: int
    reset_s: int
    is_admitted: bool


class CallerGate:
    """For the event loop."""

    def __init__(self, redis: redis.asyncio.Redis, key_prefix: str, limit: str, clock: Clock | None = None) -> None:
        """limit: as `parse_limit` takes it. clock: as of `JobStore`."""
        self._functions = AsyncFunctions(redis, key_prefix, clock)
        parsed = limits.parse(limit)
        self._amount, self._period_s = parsed.amount, parsed.get_expiry()

    async def count(self, tenant: TenantId) -> RateState:
        """Count one request of a tenant that is known already, unless it is one too many."""
        return self._state(await self._ask(tenant=tenant))

    async def identify(self, digest: str) -> tuple[ApiKey, RateState] | None:
        """The key of this digest, if there is one that is not over, and the count of its request."""
        reply = await self._ask(key=digest)
        if reply.status == "unknown":
            return None
        return decode_key(reply.hash("record")), self._state(reply)

    async def _ask(self, **who: str) -> Reply:
        with redis_errors_named():
            return await self._functions.call("identify", **who, most=self._amount, period_ms=self._period_s * 1000)

    def _state(self, reply: Reply) -> RateState:
        reset_s = max(1, math.ceil(reply.number("wait_ms") / 1000))
        return RateState(self._amount, self._period_s, reply.number("left"), reset_s, reply.flag("is_admitted"))


def parse_limit(text: str) -> str:
    """`text` itself, such as "600/minute" or "20 per 5 second". Raises `ValueError`."""
    try:
        is_one = limits.parse(text).amount > 0
    except ValueError:
        is_one = False
    if not is_one:
        raise ValueError("must be requests and a period, such as 600/minute")
    return text
