"""A few of a job's finished segments, drawn at random: what is usual in a job, read in bounded time."""

from __future__ import annotations

from typing import cast

import redis

from storage.availability import redis_errors_named
from storage.jobs import JobId
from storage.redis_keys import RedisKeys
from storage.segment_results import SegmentResult, decode_segment_result


class ResultSamples:
    """Safe to share between threads, as the client is."""

    def __init__(self, redis: redis.Redis, key_prefix: str = "rhapsode") -> None:
        self._redis = redis
        self._keys = RedisKeys(key_prefix)

    def read(self, job: JobId, count: int) -> list[SegmentResult]:
        """At most `count` different segments that are done. Raises `StoreUnavailable`."""
        with redis_errors_named():
            flat = cast("list[str]", self._redis.hrandfield(self._keys.results(job), count, withvalues=True))
        pairs = zip(flat[::2], flat[1::2], strict=True)
        return [decode_segment_result(item, line) for item, line in pairs if item.isdecimal() and line.startswith("D")]
