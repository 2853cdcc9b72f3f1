"""Whether what is counted against tenants' bytes is what their records say they hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast
from uuid import uuid4

import redis

from storage.database.functions import Clock, Functions
from storage.database.keys import RedisKeys
from storage.database.redis_errors import redis_errors_named
from storage.errors import AuditOvertaken
from storage.ids import TenantId
from storage.job_store.counter_audit import CounterDrift, Difference, differences

BATCH = 200
"""Records looked at in one call: Redis does nothing else for about so many times two microseconds."""


class StoredBytesAudit:
    """Safe to share between threads, as the client is."""

    def __init__(self, redis: redis.Redis, key_prefix: str = "rhapsode", clock: Clock | None = None) -> None:
        self._redis = redis
        self._keys = RedisKeys(key_prefix)
        self._functions = Functions(redis, key_prefix, clock)

    def audit(self) -> CounterDrift:
        """Of every tenant that has anything stored; exact while others work on, and repairs nothing.

        Raises `AuditOvertaken` if another audit of a tenant began meanwhile, or `StoreUnavailable`.
        """
        return CounterDrift(
            tuple(each for tenant in self._tenants() for found in self.steps(tenant, BATCH) for each in found)
        )

    def steps(self, tenant: TenantId, batch: int) -> Iterator[list[Difference]]:
        """The audit of one tenant as its steps, of `batch` records each; gives what each has found."""
        epoch, begins = uuid4().hex, True
        while True:
            with redis_errors_named():
                asked = {"epoch": epoch, "tenant": tenant, "begins": begins, "limit": batch}
                reply = self._functions.call("stored_bytes_audit", **asked)
            begins = False
            match reply.status:
                case "overtaken":
                    raise AuditOvertaken
                case "done":
                    yield differences(reply, f":{tenant}")
                    return
                case _:
                    yield []

    def _tenants(self) -> list[TenantId]:
        with redis_errors_named():
            found = cast("set[str]", self._redis.smembers(self._keys.single("storers")))
        return [TenantId(each) for each in sorted(found)]
