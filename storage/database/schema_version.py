"""Which layout of keys and records the state has, so that a version that reads another one says so and stops."""

from __future__ import annotations

import redis

from storage.database.keys import RedisKeys
from storage.database.layout import LAYOUT
from storage.database.redis_errors import redis_errors_named
from storage.errors import StorageError


class LayoutMismatch(StorageError):
    """The state was written by a version of another layout."""

    def __init__(self, found: str) -> None:
        super().__init__(
            f"Redis holds jobs in layout {found}, and this version has layout {LAYOUT}: let the version that wrote "
            "them finish them, then give this one another RHAPSODE_KEY_PREFIX"
        )
        self.found = found


def agree_on_layout(client: redis.Redis, key_prefix: str) -> None:
    """Say which layout this version has, or find that another is written there. Safe at every start of every process.

    Raises `LayoutMismatch` or `StoreUnavailable`.
    """
    key = RedisKeys(key_prefix).single("layout")
    with redis_errors_named():
        client.set(key, LAYOUT, nx=True)
        found = str(client.get(key))
    if found != str(LAYOUT):
        raise LayoutMismatch(found)
