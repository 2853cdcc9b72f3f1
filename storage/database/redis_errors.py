"""The Redis client of the stores. It raises `StateUnavailable` for errors that mean "not now" rather than "wrong"."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import redis
from redis.client import Pipeline
from redis.exceptions import (
    BusyLoadingError,
    ConnectionError,
    MovedError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
)
from redis.exceptions import TimeoutError as RedisTimeoutError

from storage.errors import StoreUnavailable


class StateUnavailable(StoreUnavailable, RedisError):
    """Redis cannot serve the call now; the call may have taken effect."""


_TRANSIENT = (ConnectionError, RedisTimeoutError, BusyLoadingError, MovedError, OutOfMemoryError, ReadOnlyError)
_TRANSIENT_CODES = ("MISCONF", "OOM", "LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "NOREPLICAS")


def is_refusal(error: ResponseError) -> bool:
    """Whether the server is there and does not want to now: a full disk or memory, a replica, a loading."""
    # Inside a function or a pipeline the code stands behind their own prefix, so it is looked for anywhere in front.
    return isinstance(error, _TRANSIENT) or any(code in str(error)[:200] for code in _TRANSIENT_CODES)


@contextmanager
def redis_errors_named() -> Generator[None]:
    """Turns an unreachable, loading, full or read-only Redis into `StateUnavailable`; other errors pass."""
    try:
        yield
    except _TRANSIENT as error:
        raise StateUnavailable(f"Redis does not answer: {error}") from error
    except ResponseError as error:
        if is_refusal(error):
            raise StateUnavailable(f"Redis refuses to write: {error}") from error
        raise


class StateRedis(redis.Redis):
    """As the base. Commands and pipelines raise `StateUnavailable` when Redis cannot serve them now."""

    def execute_command(self, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - the base's
        with redis_errors_named():
            return super().execute_command(*args, **options)

    def pipeline(self, transaction: bool = True, shard_hint: Any = None) -> Pipeline:  # noqa: ANN401, FBT001, FBT002
        return _StatePipeline(self.connection_pool, self.response_callbacks, transaction, shard_hint)


class _StatePipeline(Pipeline):
    def execute(self, raise_on_error: bool = True) -> list[Any]:  # noqa: FBT001, FBT002 - the base's
        with redis_errors_named():
            return super().execute(raise_on_error)
