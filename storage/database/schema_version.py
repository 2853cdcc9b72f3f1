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
    """This version can do nothing with this server or its state; the message says why."""


class ServerTooOld(StateUnusable):
    """The server has no functions."""

    def __init__(self, version: str) -> None:
        super().__init__(f"the server is Redis {version}: Rhapsode needs Redis {OLDEST_MAJOR} or Valkey 7.2, or newer")
        self.version = version


class LayoutMismatch(StateUnusable):
    """The state was written by a version of another layout."""

    def __init__(self, found: str) -> None:
        super().__init__(
            f"Redis holds jobs in layout {found}, and this version has layout {LAYOUT}: let the version that wrote "
            "them finish them, then give this one another RHAPSODE_KEY_PREFIX"
        )
        self.found = found


class ChannelsRefused(StateUnusable):
    """The user of an ACL may publish no events."""

    def __init__(self, pattern: str) -> None:
        super().__init__(f"the user of this ACL may not use its channels: give it &{pattern} beside its keys")


def agree_on_layout(client: redis.Redis, key_prefix: str) -> None:
    """Say which layout this version has, or find that another is written there. Safe at every start of every process.

    Raises `ServerTooOld`, `ChannelsRefused`, `LayoutMismatch` or `StoreUnavailable`.
    """
    key = RedisKeys(key_prefix).single("layout")
    check_server(client, key_prefix)
    client.set(key, LAYOUT, nx=True)
    found = str(client.get(key))
    if found != str(LAYOUT):
        raise LayoutMismatch(found)


def check_server(client: redis.Redis, key_prefix: str) -> None:
    """Raises `ServerTooOld`, `ChannelsRefused`, or what redis-py raises."""
    version = _version(client)
    if int(version.split(".")[0]) < OLDEST_MAJOR:
        raise ServerTooOld(version)
    keys = RedisKeys(key_prefix)
    try:
        # Of no job. A function that may not publish would fail in the middle of its work.
        client.publish(keys.of("events", JobId("")), "")
    except NoPermissionError as error:
        raise ChannelsRefused(f"{keys.root}:*") from error


def _version(client: redis.Redis) -> str:
    # Unlike INFO, every user of an ACL may ask this.
    try:
        said: object = client.execute_command("HELLO")
    except ResponseError as error:
        if "unknown command" in str(error):
            raise ServerTooOld("5 or older") from error
        raise
    if isinstance(said, dict):
        flat = [part for pair in cast("dict[object, object]", said).items() for part in pair]
    else:
        flat = cast("list[object]", said)
    words = [part.decode() if isinstance(part, bytes) else str(part) for part in flat]
    return words[words.index("version") + 1]
