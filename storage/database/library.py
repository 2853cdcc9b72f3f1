"""The library of functions that the state database runs: every change of state is a call of one of them.

    python -m storage.database.library

prints its text, which `FUNCTION LOAD REPLACE` takes by hand as well. It is the Lua modules of all rooms, in order,
behind the names and numbers that they share with this side. The library's name is the prefix of its functions' names.
It contains the layout of the state and a digest of the text. So releases that run side by side use different libraries.
One library serves every key prefix; each call passes it.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from rhapsode.contract.webhook_events import BATCH_EVENTS, JOB_EVENTS
from storage.database import keys
from storage.database.layout import LAYOUT
from storage.jobs import delivery_limits
from storage.jobs.record import KEPT_DAYS as USAGE_KEPT_DAYS
from storage.jobs.states import CALLERS_FAULTS, INTERACTIVE_AUDIO_MS, MOVES
from storage.jobs.work_items import QUARANTINE_SUSPICIONS

LAST_USE_STEP_MS = 60_000
"""How exactly the last use of an API key is known: a write per request would cost more than its look-up."""

_LIB = "job_store/lua/lib"

SHARED = (
    *("database/lua/call.lua", "webhooks/lua/lib.lua", "tenants/lua/quotas.lua"),
    *(f"{_LIB}/{name}.lua" for name in ("job", "events", "counters", "round_robin", "schedule", "window", "leases")),
    *(f"{_LIB}/{name}.lua" for name in ("ends", "throughput", "admission", "results", "batches", "voice_jobs")),
    f"{_LIB}/failures.lua",
)
"""Modules whose local names all that come behind them may use."""

GROUPS = (
    ("job_store/lua/submission.lua",),
    ("job_store/lua/queue_position.lua",),
    ("job_store/lua/claims.lua",),
    ("job_store/lua/commits.lua",),
    ("job_store/lua/setbacks.lua",),
    ("job_store/lua/control.lua",),
    (f"{_LIB}/reopen.lua", "job_store/lua/reopening.lua", "job_store/lua/takes.lua", "job_store/lua/patch.lua"),
    ("job_store/lua/sweeps.lua",),
    ("job_store/lua/counter_audit.lua",),
    ("recovery/lua/recovery.lua",),
    ("webhooks/lua/endpoints.lua",),
    ("webhooks/lua/deliveries.lua",),
    ("voices/lua/lib.lua", "voices/lua/voices.lua", "voices/lua/caches.lua"),
    ("pronunciations/lua/dictionaries.lua",),
    ("tenants/lua/callers.lua", "tenants/lua/live_streams.lua"),
    ("queue/lua/workers.lua",),
    ("queue/lua/swaps.lua",),
    ("queue/lua/overview.lua",),
)
"""Modules whose local names stay within their group: Lua has room for two hundred at the top of a text."""


@dataclass(frozen=True, slots=True)
class Library:
    """name: of the library; a function's is that, an underscore and its own. text: for `FUNCTION LOAD`."""

    name: str
    text: str

    def function(self, name: str) -> str:
        return f"{self.name}_{name}"


@cache
def library() -> Library:
    """The library of this release."""
    body = "\n".join((_constants(), *_modules()))
    digest = hashlib.sha256(body.encode()).hexdigest()[:8]
    name = f"rhapsode_{LAYOUT}_{digest}"
    return Library(name, f"#!lua name={name}\nlocal LIBRARY = '{name}'\n{body}")


def _modules() -> Iterator[str]:
    yield from (_module(path) for path in SHARED)
    for group in GROUPS:
        yield "do\n"
        yield from (_module(path) for path in group)
        yield "end\n"


def _module(path: str) -> str:
    text = resources.files("storage").joinpath(*path.split("/")).read_text(encoding="utf-8")
    return f"-- {path}\n\n{text}"


def _constants() -> str:
    numbers = {
        "QUARANTINE": QUARANTINE_SUSPICIONS,
        "INTERACTIVE_AUDIO_MS": INTERACTIVE_AUDIO_MS,
        "USAGE_KEPT_S": USAGE_KEPT_DAYS * 24 * 3600,
        "LAST_USE_STEP_MS": LAST_USE_STEP_MS,
    }
    hook = {name: str(value) for name, value in vars(delivery_limits).items() if name.isupper()}
    tables = {
        "KEY_NAMES": _table({name: _key_names(each) for name, each in _KEYS.items()}),
        "MOVES": _table({state: _set(sorted(targets)) for state, targets in MOVES.items()}),
        "TERMINAL": _set(sorted(state for state in MOVES if state.is_terminal)),
        "CALLERS_FAULTS": _set(sorted(CALLERS_FAULTS)),
        "HOOK": _table(hook | {"JOB_EVENTS": _set((*JOB_EVENTS, *BATCH_EVENTS))}),
    }
    rows = ({name: str(number) for name, number in numbers.items()} | tables).items()
    return "".join(f"local {name} = {value}\n" for name, value in rows)


_KEYS = {"K": keys.RedisKeys, "W": keys.WebhookKeys, "V": keys.VoiceKeys, "P": keys.PronunciationKeys}


def _key_names(of: type[keys.RedisKeys]) -> str:
    names = {"subroot": f"'{of.subroot}'", "families": _list(of.families), "singles": _list(of.singles)}
    return _table(names)


def _table(rows: Mapping[str, str]) -> str:
    return "{\n" + "".join(f"  {name} = {value},\n" for name, value in rows.items()) + "}"


def _set(names: Sequence[str]) -> str:
    return "{" + ", ".join(f"['{name}'] = true" for name in names) + "}"


def _list(names: Collection[str]) -> str:
    return "{" + ", ".join(f"'{name}'" for name in names) + "}"


if __name__ == "__main__":
    sys.stdout.write(library().text)
