"""Which Redis errors mean "not now" rather than "wrong"."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from redis.exceptions import (
    BusyLoadingError,
    ConnectionError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
)
from redis.exceptions import TimeoutError as RedisTimeoutError

from storage.errors import StoreUnavailable


class NotReplicated(RedisError):
    """Fewer replicas than wanted have what was written, in the time given. It stands in the server, and may be lost."""


_TRANSIENT = (ConnectionError, RedisTimeoutError, BusyLoadingError, OutOfMemoryError, ReadOnlyError, NotReplicated)
_TRANSIENT_CODES = ("MISCONF", "OOM", "LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "NOREPLICAS")


def is_refusal(error: ResponseError) -> bool:
    """Whether the server is there and does not want to now: a full disk or memory, a replica, a loading."""
    # Inside a function or a pipeline the code stands behind their own prefix, so it is looked for anywhere in front.
    return isinstance(error, _TRANSIENT) or any(code in str(error)[:200] for code in _TRANSIENT_CODES)


@contextmanager
def redis_errors_named() -> Generator[None]:
    """Turns an unreachable, loading, full or read-only Redis into `StoreUnavailable`; other errors pass."""
    try:
        yield
    except _TRANSIENT as error:
        raise StoreUnavailable(f"Redis does not answer: {error}") from error
    except ResponseError as error:
        if is_refusal(error):
            raise StoreUnavailable(f"Redis refuses to write: {error}") from error
        raise
