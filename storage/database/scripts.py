"""Loads the Lua scripts and runs them by their hash.

A script is its own body behind what that needs of the generated tables (keys, moves, constants), a clock and the
preludes, in one chunk. Scripts build their keys from the table; the one declared key is the hash tag, which routes
them.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from importlib import resources
from typing import cast

import redis
from redis.exceptions import NoScriptError, RedisError

from storage.database.script_files import SCRIPT_FILES
from storage.database.script_linking import linked
from storage.runtime.observability.metrics import redis_call

SERVER_CLOCK = """
local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
"""
"""Unix milliseconds of the Redis server: no client's clock decides anything."""

Reply = list[str | int | list[str | int]]
"""A script's answer; lists in it are flat pairs."""
Argument = str | int | float


class Script:
    """One script; `run` is one EVALSHA, with the text sent only to a server that does not know it yet."""

    def __init__(self, client: redis.Redis, root: str, source: str, name: str) -> None:
        self._client = client
        self._root = root
        self._source = source
        self._duration, self._errors = redis_call(name)
        self._sha = hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()

    def run(self, *arguments: Argument) -> Reply:
        started = time.perf_counter()
        try:
            return self._run(arguments)
        except RedisError:
            self._errors.inc()
            raise
        finally:
            self._duration.observe(time.perf_counter() - started)

    def run_with(self, arguments: Sequence[Argument], other: Script, others: Sequence[Argument]) -> tuple[Reply, Reply]:
        """As `run` of this and then of the other script, in one round trip. Both are measured as long as that takes."""
        started = time.perf_counter()
        try:
            pipeline = self._client.pipeline(transaction=False)
            pipeline.evalsha(self._sha, 1, self._root, *arguments)
            pipeline.evalsha(other._sha, 1, other._root, *others)
            first, second = cast("list[Reply]", pipeline.execute())
        except NoScriptError:
            # Whichever it was: each may be repeated.
            return self.run(*arguments), other.run(*others)
        except RedisError:
            self._errors.inc()
            raise
        for each in (self, other):
            each._duration.observe(time.perf_counter() - started)
        return first, second

    def run_each(self, calls: Sequence[Sequence[Argument]]) -> list[Reply]:
        """The answers of several calls in one round trip; others may come in between them."""
        if not calls:
            return []
        started = time.perf_counter()
        pipeline = self._client.pipeline(transaction=False)
        for arguments in calls:
            pipeline.evalsha(self._sha, 1, self._root, *arguments)
        try:
            replies = cast("list[Reply]", pipeline.execute())
        except NoScriptError:
            return [self.run(*arguments) for arguments in calls]
        except RedisError:
            self._errors.inc()
            raise
        self._duration.observe(time.perf_counter() - started)
        return replies

    def _run(self, arguments: Sequence[Argument]) -> Reply:
        try:
            reply = self._client.evalsha(self._sha, 1, self._root, *arguments)
        except NoScriptError:
            reply = self._client.eval(self._source, 1, self._root, *arguments)
        return cast(Reply, reply)


def linked_script(client: redis.Redis, root: str, name: str, shared: Sequence[str]) -> Script:
    """The script `name` behind what it needs of `shared`. root: as of `RedisKeys`."""
    return Script(client, root, linked("\n".join(shared), lua_source(name)), name)


def hash_fields(flat: object) -> dict[str, str]:
    """What HGETALL gives inside a script: field, value, field, value, ..."""
    parts = cast("Sequence[str]", flat)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def lua_source(name: str) -> str:
    """The text of the script, or of what several have in front."""
    return resources.files("storage").joinpath(*SCRIPT_FILES[name].split("/")).read_text(encoding="utf-8")
