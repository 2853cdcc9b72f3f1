"""What stands in front of every script of jobs: the tables of states, limits and keys, and the preludes."""

from __future__ import annotations

from collections.abc import Sequence

import redis

from storage.database.keys import RedisKeys
from storage.database.scripts import Script, linked_script, lua_source
from storage.jobs.failure_codes import CALLERS_FAULTS
from storage.jobs.record import KEPT_DAYS as USAGE_KEPT_DAYS
from storage.jobs.service_classes import INTERACTIVE_AUDIO_MS
from storage.jobs.states import MOVES
from storage.jobs.work_items import QUARANTINE_SUSPICIONS
from storage.webhooks.lua_prelude import webhook_prelude


def load_script(client: redis.Redis, keys: RedisKeys, name: str, clock: str, preludes: Sequence[str] = ()) -> Script:
    """The script `name` for the keys of `keys`; `clock` is Lua that defines `clock()` -> Unix ms.

    preludes: what this script shares with some others, behind what it shares with all.
    """
    tables = [keys.lua_table(), _moves_table(), _constants()]
    shared = (lua_source(part) for part in ("quota_prelude", "prelude", *preludes))
    return linked_script(client, keys.root, name, (*tables, clock, webhook_prelude(keys), *shared))


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
