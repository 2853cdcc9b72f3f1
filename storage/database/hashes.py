"""Several hashes of Redis in one round trip."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import redis


def read_hashes(client: redis.Redis, keys: Iterable[str]) -> list[dict[str, str]]:
    """One for each key; an empty one where there is none."""
    pipeline = client.pipeline(transaction=False)
    for key in keys:
        pipeline.hgetall(key)
    return cast("list[dict[str, str]]", pipeline.execute())
