"""What uploads count against a tenant's bytes: from the link's being given out until the file is gone.

The store is not asked while a file arrives, so a link counts as if it had been used. What came of it is settled
by the next look: a deletion at once, the janitor once an hour.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import cast

import redis
from ulid import ULID

from storage.database.functions import Clock, Functions
from storage.database.keys import RedisKeys
from storage.database.redis_errors import redis_errors_named
from storage.ids import UPLOAD_PREFIX, TenantId, UploadId

PAGE = 500


class UploadLedger:
    """Safe to share between threads, as the client is.

    max_stored_bytes: of a tenant without a limit of its own; None for as much as there is room for.
    """

    def __init__(
        self,
        redis: redis.Redis,
        key_prefix: str = "rhapsode",
        max_stored_bytes: int | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._redis = redis
        self._keys = RedisKeys(key_prefix)
        self._max_stored_bytes = max_stored_bytes
        self._functions = Functions(redis, key_prefix, clock)

    def order(self, tenant: TenantId, upload: UploadId, num_bytes: int) -> None:
        """Count a file that may come. Raises `QuotaExceeded`, or `StoreUnavailable` as everything here does."""
        with redis_errors_named():
            reply = self._functions.call(
                "upload_order", upload=upload, tenant=tenant, bytes=num_bytes, most_stored_bytes=self._max_stored_bytes
            )
        if reply.status == "refused":
            raise reply.refusal()

    def settle(self, tenant: TenantId, upload: UploadId, num_bytes: int) -> int:
        """Count what lies in the store, 0 for nothing; returns how many bytes more or fewer that is."""
        with redis_errors_named():
            reply = self._functions.call("upload_settle", upload=upload, tenant=tenant, bytes=num_bytes)
        return reply.number("change")

    def ordered_before(self, at_s: float) -> Iterator[tuple[TenantId, UploadId]]:
        """Everything that still counts and whose link was given out before this Unix time."""
        end = f"({UPLOAD_PREFIX}{str(ULID.from_datetime(datetime.fromtimestamp(at_s, UTC))).lower()}"
        with redis_errors_named():
            tenants = cast("set[str]", self._redis.smembers(self._keys.single("storers")))
        for tenant in sorted(tenants):
            start = "-"
            while start:
                with redis_errors_named():
                    found = self._redis.zrangebylex(self._keys.uploads(TenantId(tenant)), start, end, 0, PAGE)
                ids = cast("list[str]", found)
                yield from ((TenantId(tenant), UploadId(each)) for each in ids)
                start = f"({ids[-1]}" if len(ids) == PAGE else ""
