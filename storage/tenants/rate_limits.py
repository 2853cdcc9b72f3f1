"""Whose key it is and how often its tenant has asked: one question to Redis for all API processes together.

The window slides, so that a minute's worth cannot be had twice around its end: what was asked in the last whole window
counts as far as that still overlaps with the period that ends now.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

import limits
import redis.asyncio
from redis.exceptions import NoScriptError

from storage.database.keys import RedisKeys
from storage.database.redis_errors import redis_errors_named
from storage.database.scripts import SERVER_CLOCK, hash_fields
from storage.ids import TenantId
from storage.tenants.api_keys import KEY_LOOKUP, ApiKey, decode_key

# KEYS[1]; ARGV: sha256 of a key or '', tenant where there is none, requests, period ms
# -> unknown; ok + 1 or 0 (admitted) + how many are left + ms until more are + the key's record (field, value, ...)
_COUNT = """
local tenant, record = ARGV[2], {}
if ARGV[1] ~= '' then
  record = find_key(ARGV[1])
  if not record then return {'unknown'} end
  for i = 1, #record, 2 do
    if record[i] == 'tenant' then tenant = record[i + 1] end
  end
end
local most, period = tonumber(ARGV[3]), tonumber(ARGV[4])
local window = math.floor(now / period)
local passed = now - window * period
local name = KEYS[1] .. ':rate:' .. tenant .. ':'
local counts = redis.call('MGET', name .. window, name .. window - 1)
local present, before = tonumber(counts[1]) or 0, tonumber(counts[2]) or 0
local held = present + before * (1 - passed / period)
local is_admitted = held + 1 <= most
if is_admitted then
  present, held = redis.call('INCR', name .. window), held + 1
  if present == 1 then redis.call('PEXPIRE', name .. window, 2 * period) end
end
-- When one more than now is free: as the window before fades, or, where this one is full by itself, as it does in its
-- turn.
local wait = period - passed
local room = most - math.floor(most - held) - 1
if before > 0 and present <= room then
  wait = period * (1 - (room - present) / before) - passed
elseif present > 0 then
  wait = period - passed + period * math.max(0, 1 - room / present)
end
return {'ok', is_admitted and 1 or 0, math.max(0, math.floor(most - held)), math.ceil(wait), record}
"""


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

    def __init__(self, redis: redis.asyncio.Redis, key_prefix: str, limit: str, clock: str = SERVER_CLOCK) -> None:
        """limit: as `parse_limit` takes it. clock: as of `JobStore`."""
        self._redis = redis
        self._root = RedisKeys(key_prefix).root
        parsed = limits.parse(limit)
        self._amount, self._period_s = parsed.amount, parsed.get_expiry()
        self._script = "\n".join((clock, KEY_LOOKUP, _COUNT))
        self._sha = hashlib.sha1(self._script.encode(), usedforsecurity=False).hexdigest()

    async def count(self, tenant: TenantId) -> RateState:
        """Count one request of a tenant that is known already, unless it is one too many."""
        reply = await self._run("", tenant)
        return self._state(reply)

    async def identify(self, digest: str) -> tuple[ApiKey, RateState] | None:
        """The key of this digest, if there is one that is not over, and the count of its request."""
        reply = await self._run(digest, "")
        if reply[0] == "unknown":
            return None
        return decode_key(hash_fields(reply[4])), self._state(reply)

    async def _run(self, digest: str, tenant: str) -> list[object]:
        arguments = (self._root, digest, tenant, str(self._amount), str(self._period_s * 1000))
        with redis_errors_named():
            try:
                return await self._redis.evalsha(self._sha, 1, *arguments)
            except NoScriptError:
                return await self._redis.eval(self._script, 1, *arguments)

    def _state(self, reply: list[object]) -> RateState:
        is_admitted, remaining, wait_ms = (int(str(part)) for part in reply[1:4])
        return RateState(self._amount, self._period_s, remaining, max(1, math.ceil(wait_ms / 1000)), bool(is_admitted))


def parse_limit(text: str) -> str:
    """`text` itself, such as "600/minute" or "20 per 5 second". Raises `ValueError`."""
    limits.parse(text)
    return text
