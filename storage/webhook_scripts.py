"""Runs the scripts of webhooks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from importlib import resources
from typing import cast

import redis

from storage.availability import redis_errors_named
from storage.lua import Argument, Script
from storage.lua_linking import linked
from storage.redis_keys import RedisKeys
from storage.webhook_lua import webhook_prelude


class WebhookScripts:
    """Those of `names`, by name. Each is one call and idempotent for its own arguments."""

    def __init__(self, client: redis.Redis, keys: RedisKeys, names: Collection[str], clock: str) -> None:
        prelude = f"{clock}\n{webhook_prelude(keys)}"
        self._scripts = {name: Script(client, keys.root, linked(prelude, _read(name)), name) for name in names}

    def run(self, name: str, *arguments: Argument) -> list[object]:
        """Raises `StoreUnavailable`."""
        with redis_errors_named():
            return cast("list[object]", self._scripts[name].run(*arguments))


def pairs(part: object) -> dict[str, str]:
    """What HGETALL gives inside a script: field, value, field, value, ..."""
    flat = cast("Sequence[str]", part)
    return dict(zip(flat[::2], flat[1::2], strict=True))


def _read(name: str) -> str:
    return resources.files("storage").joinpath("scripts", f"{name}.lua").read_text(encoding="utf-8")
