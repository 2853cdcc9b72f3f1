"""Loads the Lua scripts and runs them by their hash.

A script is its own body behind what that needs of the generated tables (keys, moves, constants), a clock and the
preludes, in one chunk. Scripts build their keys from the table; the one declared key is the hash tag, which routes
them.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from typing import cast

import redis
from redis.exceptions import NoScriptError, RedisError

from storage.failure_codes import CALLERS_FAULTS
from storage.job_states import MOVES
from storage.lua_linking import linked
from storage.lua_sources import lua_source
from storage.metrics import redis_call
from storage.redis_keys import RedisKeys
from storage.service_classes import INTERACTIVE_AUDIO_MS
from storage.usage import KEPT_DAYS as USAGE_KEPT_DAYS
from storage.webhook_lua import webhook_prelude
from storage.work_items import QUARANTINE_SUSPICIONS

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

    def _run(self, arguments: Sequence[Argument]) -> Reply:
        try:
            reply = self._client.evalsha(self._sha, 1, self._root, *arguments)
        except NoScriptError:
            reply = self._client.eval(self._source, 1, self._root, *arguments)
        return cast(Reply, reply)


def load_script(client: redis.Redis, keys: RedisKeys, name: str, clock: str, preludes: Sequence[str] = ()) -> Script:
    """The script `name` for the keys of `keys`; `clock` is Lua that defines `clock()` -> Unix ms.

    preludes: what this script shares with some others, behind what it shares with all.
    """
    tables = [keys.lua_table(), _moves_table(), _constants()]
    shared = (lua_source(part) for part in ("quota_prelude", "prelude", *preludes))
    return linked_script(client, keys.root, name, (*tables, clock, webhook_prelude(keys), *shared))


def linked_script(client: redis.Redis, root: str, name: str, shared: Sequence[str]) -> Script:
    """The script `name` behind what it needs of `shared`. root: as of `RedisKeys`."""
    return Script(client, root, linked("\n".join(shared), lua_source(name)), name)


def hash_fields(flat: object) -> dict[str, str]:
    """What HGETALL gives inside a script: field, value, field, value, ..."""
    parts = cast("Sequence[str]", flat)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def _moves_table() -> str:
    rows = (f"  {state} = {_set(sorted(targets))}," for state, targets in MOVES.items())
    ended = _set(sorted(state for state in MOVES if state.is_terminal))
    return "local MOVES = {\n" + "\n".join(rows) + f"\n}}\nlocal TERMINAL = {ended}\n"


def _set(names: Sequence[str]) -> str:
    return "{" + ", ".join(f"{name} = true" for name in names) + "}"


def _constants() -> str:
    numbers = {
        "QUARANTINE": QUARANTINE_SUSPICIONS,
        "INTERACTIVE_AUDIO_MS": INTERACTIVE_AUDIO_MS,
        "USAGE_KEPT_S": USAGE_KEPT_DAYS * 24 * 3600,
    }
    constants = "".join(f"local {name} = {number}\n" for name, number in numbers.items())
    return f"{constants}local CALLERS_FAULTS = {_set(sorted(CALLERS_FAULTS))}\n"
