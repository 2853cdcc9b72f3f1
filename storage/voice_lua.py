"""What stands in front of every script of voices, their caches and consents."""

from __future__ import annotations

import redis

from storage.job_states import MOVES
from storage.lua import Script, linked_script
from storage.lua_sources import lua_source
from storage.redis_keys import RedisKeys
from storage.voice_keys import VoiceKeys
from storage.webhook_lua import webhook_prelude


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
