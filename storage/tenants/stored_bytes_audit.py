"""Whether what is counted against tenants' bytes is what their records say they hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast
from uuid import uuid4

import redis

from storage.database.keys import RedisKeys
from storage.database.redis_errors import redis_errors_named
from storage.database.scripts import SERVER_CLOCK
from storage.errors import AuditOvertaken
from storage.ids import TenantId
from storage.job_store.counter_audit import CounterDrift, Difference
from storage.pronunciations.keys import PronunciationKeys
from storage.voices.lua_prelude import load_voice_script

BATCH = 200
"""Records looked at in one script call: Redis does nothing else for about so many times two microseconds."""


class StoredBytesAudit:
    """Safe to share between threads, as the client is."""

    def __init__(self, redis: redis.Redis, key_prefix: str = "rhapsode", clock: str = SERVER_CLOCK) -> None:
        self._redis = redis
        self._keys = RedisKeys(key_prefix)
        table = PronunciationKeys(key_prefix).lua_table()
        self._script = load_voice_script(redis, key_prefix, "stored_bytes_audit", f"{table}\n{clock}")

    def audit(self) -> CounterDrift:
        """Of every tenant that has anything stored; exact while others work on, and repairs nothing.

        Raises `AuditOvertaken` if another audit of a tenant began meanwhile, or `StoreUnavailable`.
        """
        return CounterDrift(
            tuple(each for tenant in self._tenants() for found in self.steps(tenant, BATCH) for each in found)
        )

    def steps(self, tenant: TenantId, batch: int) -> Iterator[list[Difference]]:
        """The audit of one tenant as its steps, of `batch` records each; gives what each has found."""
        epoch, begins = uuid4().hex, "1"
        while True:
            with redis_errors_named():
                reply = cast("list[str]", self._script.run(epoch, tenant, begins, batch))
            begins = ""
            match reply[0]:
                case "overtaken":
                    raise AuditOvertaken
                case "done":
                    yield _differences(tenant, reply[1:])
                    return
                case _:
                    yield []

    def _tenants(self) -> list[TenantId]:
        with redis_errors_named():
            found = cast("set[str]", self._redis.smembers(self._keys.single("storers")))
        return [TenantId(each) for each in sorted(found)]


def _differences(tenant: TenantId, flat: list[str]) -> list[Difference]:
    """Place, expected, actual, ..."""
    return [
        Difference(f"stored_bytes:{place}:{tenant}", int(expected), int(actual))
        for place, expected, actual in zip(flat[::3], flat[1::3], flat[2::3], strict=True)
    ]
