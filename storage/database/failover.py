"""Pools of connections to whichever server is a service's primary now, as its Sentinels say.

A new connection asks them for the primary. If its server becomes a replica, the library closes it and sends the pending
calls to the new primary. As after any reset, every function is safe to repeat.
"""

from __future__ import annotations

from typing import Any

import redis.asyncio.sentinel
import redis.sentinel

from storage.database.async_connections import ResetNamed, Shrinking
from storage.runtime.config.sentinel_url import SentinelUrl

SENTINEL_TIMEOUT_S = 1.0
"""For one Sentinel to answer: the next is asked then."""


def failover_pool(url: SentinelUrl, **options: Any) -> redis.sentinel.SentinelConnectionPool:  # noqa: ANN401
    """options: of the connections to the servers."""
    sentinels = redis.sentinel.Sentinel(url.sentinels, sentinel_kwargs=sentinel_options(url))
    return _FailoverPool(url.service, sentinels, connection_class=LettingGo, **_server_options(url), **options)


def async_failover_pool(url: SentinelUrl, **options: Any) -> redis.asyncio.sentinel.SentinelConnectionPool:  # noqa: ANN401
    sentinels = redis.asyncio.sentinel.Sentinel(url.sentinels, sentinel_kwargs=sentinel_options(url))
    return _AsyncFailoverPool(url.service, sentinels, connection_class=_Managed, **_server_options(url), **options)


def sentinel_options(url: SentinelUrl) -> dict[str, Any]:
    """Of connections to the Sentinels."""
    return {
        "username": url.sentinel_username,
        "password": url.sentinel_password,
        "socket_timeout": SENTINEL_TIMEOUT_S,
        "socket_connect_timeout": SENTINEL_TIMEOUT_S,
    }


def _server_options(url: SentinelUrl) -> dict[str, Any]:
    return {"db": url.database, "username": url.username, "password": url.password}


class LettingGo(redis.sentinel.SentinelManagedConnection):
    """Closed when its server does not answer in time, as the library's other connections are. Its own for Sentinels is
    kept, and asks a primary whose host stands still for as long as it does.
    """

    def read_response(self, *given: Any, **named: Any) -> Any:  # noqa: ANN401 - the base's
        return super().read_response(*given, **({"disconnect_on_error": True} | named))


class _FailoverPool(redis.sentinel.SentinelConnectionPool):
    def disconnect(self, inuse_connections: bool = True) -> None:  # noqa: FBT001, FBT002 - the library's own
        """As the base's; all of them, at the end, with those to the Sentinels."""
        super().disconnect(inuse_connections)
        if inuse_connections:
            self.sentinel_manager.close()


class _Managed(ResetNamed, redis.asyncio.sentinel.SentinelManagedConnection):
    pass


class _AsyncFailoverPool(Shrinking, redis.asyncio.sentinel.SentinelConnectionPool):
    async def disconnect(self, inuse_connections: bool = True) -> None:  # noqa: FBT001, FBT002 - the library's own
        """As `_FailoverPool.disconnect`."""
        await super().disconnect(inuse_connections)
        if inuse_connections:
            await self.sentinel_manager.aclose()
