"""What stands in front of every script of voices, their caches and consents."""

from __future__ import annotations

import redis

from storage.database.keys import RedisKeys
from storage.database.scripts import Script, linked_script, lua_source
from storage.jobs.states import MOVES
from storage.voices.keys import VoiceKeys
from storage.webhooks.lua_prelude import webhook_prelude


def load_voice_script(client: redis.Redis, key_prefix: str, name: str, clock: str) -> Script:
    """The script `name` of voices; `clock` is Lua that defines `clock()` -> Unix ms."""
    job_keys = RedisKeys(key_prefix)
    ended = ", ".join(f"{state} = true" for state in MOVES if state.is_terminal)
    parts = (
        job_keys.lua_table(),
        VoiceKeys(key_prefix).lua_table(),
        f"local TERMINAL = {{{ended}}}\n",
        clock,
        webhook_prelude(job_keys),
        lua_source("quota_prelude"),
        lua_source("voice_prelude"),
    )
    return linked_script(client, job_keys.root, name, parts)
