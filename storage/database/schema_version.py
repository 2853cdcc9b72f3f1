"""Whether this version can work with the state: its layout of keys and records, and what its server can do."""

from __future__ import annotations

from typing import cast

import redis
from redis.exceptions import NoPermissionError, ResponseError

from storage.database.keys import RedisKeys
from storage.database.layout import LAYOUT
from storage.errors import StorageError
from storage.ids import JobId

OLDEST_MAJOR = 7
"""Of Redis: the first that has functions. Every Valkey says a higher one."""


class StateUnusable(StorageError):
    """This version can do nothing with this server or its state. The message says why and what to do."""


def agree_on_layout(client: redis.Redis, key_prefix: str) -> None:
    """Say which layout this version has, or find that another is written there. Safe at every start of every process.

    Raises `StateUnusable` or `StoreUnavailable`.
    """
    key = RedisKeys(key_prefix).single("layout")
    check_server(client, key_prefix)
    client.set(key, LAYOUT, nx=True)
    found = str(client.get(key))
    if found != str(LAYOUT):
        raise StateUnusable(
            f"Redis holds jobs in layout {found}, and this version has layout {LAYOUT}: let the version that wrote "
            "them finish them, then give this one another RHAPSODE_KEY_PREFIX"
        )


def check_server(client: redis.Redis, key_prefix: str) -> None:
    """Raises `StateUnusable`, or what redis-py raises."""
    words = _hello(client)
    version = words[words.index("version") + 1]
    if int(version.split(".")[0]) < OLDEST_MAJOR:
        raise _too_old(version)
    if "cluster" in words:
        raise StateUnusable(
            "this server is a node of a Redis Cluster, which Rhapsode cannot use: name a server without cluster mode, "
            "or its Sentinels"
        )
    keys = RedisKeys(key_prefix)
    try:
        # Of no job. A function that may not publish would fail in the middle of its work.
        client.publish(keys.of("events", JobId("")), "")
    except NoPermissionError as error:
        told = f"the user of this ACL may not use its channels: give it &{keys.root}:* beside its keys"
        raise StateUnusable(told) from error


def _too_old(version: str) -> StateUnusable:
    return StateUnusable(f"the server is Redis {version}: Rhapsode needs Redis {OLDEST_MAJOR} or Valkey 7.2, or newer")


def _hello(client: redis.Redis) -> list[str]:
    # Unlike INFO, every user of an ACL may ask this.
    try:
        said: object = client.execute_command("HELLO")
    except ResponseError as error:
        if "unknown command" in str(error):
            raise _too_old("5 or older") from error
        raise
    if isinstance(said, dict):
        flat = [part for pair in cast("dict[object, object]", said).items() for part in pair]
    else:
        flat = cast("list[object]", said)
    return [part.decode() if isinstance(part, bytes) else str(part) for part in flat]
