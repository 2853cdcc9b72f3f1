"""Answers kept under idempotency keys, so that a repeated request is answered again and not carried out again.

For requests whose effect is not one function in Redis; jobs keep theirs in the one that makes them. A key belongs to a
tenant.
It is first taken by the request that carries it out, under a token; a repeat meanwhile gets 409 with Retry-After.
Should its process die, the key is free again after `TAKEN_S`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

import redis.asyncio

from storage.database.keys import RedisKeys
from storage.database.redis_errors import redis_errors_named
from storage.errors import IdempotencyInProgress, IdempotencyMismatch
from storage.ids import TenantId
from storage.jobs.submissions import IdempotencyKey

KEPT_S = 24 * 3600
TAKEN_S = 120
"""Longer than any request is worked on."""

# KEYS[1]; ARGV: fingerprint, token, seconds -> 'taken', or fingerprint, token and answer of who came before
_TAKE = """
if redis.call('SET', KEYS[1], cjson.encode({ARGV[1], ARGV[2], ''}), 'NX', 'EX', ARGV[3]) then return 'taken' end
return redis.call('GET', KEYS[1])
"""

# KEYS[1]; ARGV: token, what replaces the entry ('' to free the key), seconds
_SETTLE = """
local entry = redis.call('GET', KEYS[1])
if not entry or cjson.decode(entry)[2] ~= ARGV[1] then return 0 end
if ARGV[2] == '' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3]) end
return 1
"""


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    status: int
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: str = ""


class IdempotentResponses:
    """For the event loop. Scripts are short enough to be sent whole."""

    def __init__(self, redis: redis.asyncio.Redis, key_prefix: str = "rhapsode") -> None:
        self._redis = redis
        self._root = RedisKeys(key_prefix).root

    async def take(self, tenant: TenantId, key: IdempotencyKey, token: str) -> KeptAnswer | None:
        """The answer that was given under this key; None: there is none, and the caller now carries the request out.

        Raises `IdempotencyMismatch` for another request's key, `IdempotencyInProgress` while one is carried out.
        """
        with redis_errors_named():
            reply = await self._redis.eval(_TAKE, 1, self._name(tenant, key), key.fingerprint, token, str(TAKEN_S))
        if reply == "taken":
            return None
        fingerprint, holder, answer = cast("tuple[str, str, str]", json.loads(reply))
        if fingerprint != key.fingerprint:
            raise IdempotencyMismatch
        if not answer:
            if holder == token:
                # Our own call, sent again because its answer was lost.
                return None
            raise IdempotencyInProgress
        return KeptAnswer(**json.loads(answer))

    async def keep(self, tenant: TenantId, key: IdempotencyKey, token: str, answer: KeptAnswer) -> None:
        """From now on this is the answer. Nothing if the key was given to another request meanwhile."""
        kept = json.dumps({"status": answer.status, "headers": dict(answer.headers), "body": answer.body})
        await self._settle(tenant, key, token, json.dumps([key.fingerprint, token, kept]))

    async def free(self, tenant: TenantId, key: IdempotencyKey, token: str) -> None:
        """Nothing came of the request: the next one with this key is carried out."""
        await self._settle(tenant, key, token, "")

    async def _settle(self, tenant: TenantId, key: IdempotencyKey, token: str, entry: str) -> None:
        with redis_errors_named():
            await self._redis.eval(_SETTLE, 1, self._name(tenant, key), token, entry, str(KEPT_S))

    def _name(self, tenant: TenantId, key: IdempotencyKey) -> str:
        return f"{self._root}:replay:{tenant}:{hashlib.sha256(key.key.encode()).hexdigest()}"
