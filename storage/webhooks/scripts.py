"""Runs the scripts of webhooks."""

from __future__ import annotations

from collections.abc import Collection
from typing import cast

import redis

from storage.database.keys import RedisKeys
from storage.database.redis_errors import redis_errors_named
from storage.database.scripts import Argument, linked_script
from storage.webhooks.lua_prelude import webhook_prelude


class WebhookScripts:
    """Those of `names`, by name. Each is one call and idempotent for its own arguments."""

    def __init__(self, client: redis.Redis, keys: RedisKeys, names: Collection[str], clock: str) -> None:
        shared = (clock, webhook_prelude(keys))
        self._scripts = {name: linked_script(client, keys.root, name, shared) for name in names}

    def run(self, name: str, *arguments: Argument) -> list[object]:
        """Raises `StoreUnavailable`."""
        with redis_errors_named():
            return cast("list[object]", self._scripts[name].run(*arguments))
