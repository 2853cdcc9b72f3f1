"""One point a minute of how the fleet was, for a day: a stream in Redis."""

from __future__ import annotations

import logging
from typing import Any, cast

import redis
from redis.exceptions import ResponseError

from rhapsode.contract.operators.fleet import FleetMinute
from storage.database.keys import RedisKeys

logger = logging.getLogger(__name__)

MOST_MINUTES = 24 * 60
MINUTE_MS = 60_000

POINT_VERSION = "1"
"""Of the stored points. It changes when a reader of this version could not read them."""

_TOO_LATE = "equal or smaller than the target stream top item"


class FleetHistoryStore:
    """Safe to share between threads, as the client is.

    A point's id in the stream is its minute. Redis refuses an id that is not above the last one. So one process writes
    each minute, however many try. A day has at most 1,440 points of about 400 bytes.
    """

    def __init__(self, redis: redis.Redis, key_prefix: str = "rhapsode") -> None:
        self._redis = redis
        keys = RedisKeys(key_prefix)
        self._key = keys.single("fleet_points")
        self._key_of_lists = keys.single("fleet_history")

    def now_ms(self) -> int:
        """By the clock of Redis, which all processes share. Raises `StoreUnavailable`."""
        seconds, micros = self._redis.time()
        return seconds * 1000 + micros // 1000

    def has(self, at_ms: int) -> bool:
        """Whether there is a point of this minute, or of a later one. Raises `StoreUnavailable`."""
        last = cast("list[tuple[str, dict[str, str]]]", self._redis.xrevrange(self._key, count=1))
        return bool(last) and int(last[0][0].partition("-")[0]) >= at_ms

    def add(self, minute: FleetMinute) -> bool:
        """False if a process has written this minute already. Drops points older than a day. Raises
        `StoreUnavailable`.
        """
        at_ms = round(minute.at.timestamp() * 1000)
        oldest_ms = at_ms - (MOST_MINUTES - 1) * MINUTE_MS
        point: dict[Any, Any] = {"version": POINT_VERSION, "minute": minute.model_dump_json()}
        try:
            self._redis.xadd(self._key, point, id=f"{at_ms}-0", minid=f"{oldest_ms}", approximate=False)
        except ResponseError as error:
            if _TOO_LATE in str(error):
                return False
            raise
        self._redis.unlink(self._key_of_lists)
        return True

    def read(self, most: int = MOST_MINUTES) -> tuple[FleetMinute, ...]:
        """The newest so many points, the oldest first. Points of an unknown version are left out. Raises
        `StoreUnavailable`.
        """
        rows = cast("list[tuple[str, dict[str, str]]]", self._redis.xrevrange(self._key, count=most))
        points = [point for _, point in reversed(rows)]
        known = [point["minute"] for point in points if point.get("version") == POINT_VERSION]
        if len(known) < len(points):
            logger.info("points of the fleet's history left out", extra={"of_other_versions": len(points) - len(known)})
        return tuple(FleetMinute.model_validate_json(minute) for minute in known)
