"""What the Lua scripts know of webhooks, so that any of them can tell of an event: keys, limits, shared functions."""

from __future__ import annotations

from rhapsode.contract.webhook_events import BATCH_EVENTS, JOB_EVENTS
from storage.database.keys import RedisKeys
from storage.database.scripts import lua_source
from storage.webhooks import records as webhooks
from storage.webhooks.keys import WebhookKeys

_LIMITS = (
    "MAX_IN_FLIGHT",
    "BREAKER_FAILURES",
    "FIRST_REST_MS",
    "LONGEST_REST_MS",
    "LONGEST_PAUSE_MS",
    "HOPELESS_MS",
    "MAX_WAITING",
    "KEPT_DELIVERIES",
    "KEPT_S",
    "KEPT_ATTEMPTS",
    "MAX_ENDPOINTS",
    "MAX_SECRETS",
)


def webhook_prelude(keys: RedisKeys) -> str:
    """Lua that defines `webhooks`, `W` and `HOOK`; needs `clock` before it."""
    rows = [f"{name} = {getattr(webhooks, name)}" for name in _LIMITS]
    rows.append("JOB_EVENTS = {" + ", ".join(f"['{event}'] = true" for event in (*JOB_EVENTS, *BATCH_EVENTS)) + "}")
    limits = "local HOOK = {\n  " + ",\n  ".join(rows) + ",\n}\n"
    return "\n".join((WebhookKeys(keys).lua_table(), limits, lua_source("webhook_prelude")))
