"""Interleavings of delete, build, upload and force, by seed."""

from __future__ import annotations

import redis

from tests.storage.voices.voice_races import run_interleaving


def test_no_interleaving_resurrects_a_voice_or_serves_an_old_revision(redis_client: redis.Redis) -> None:
    for seed in range(150):
        run_interleaving(redis_client, seed)
