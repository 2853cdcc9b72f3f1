"""Connections for asyncio to Redis, as they have to be under uvloop and behind a thousand requests at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from redis.asyncio.connection import (
    AbstractConnection,
    Connection,
    ConnectionPool,
    SSLConnection,
    UnixDomainSocketConnection,
)
from redis.exceptions import ConnectionError as RedisConnectionError

MAX_IDLE = 16
"""Connections that are kept for later: every request that waits for an answer holds one."""

_CLOSED = "the handler is closed"
"""How uvloop says, by a `RuntimeError`, that a connection has ended."""


class ResetNamed(AbstractConnection):
    async def send_packed_command(
        self,
        command: bytes | str | Iterable[bytes],
        check_health: bool = True,  # noqa: FBT001, FBT002 - the library's own
    ) -> None:
        """As the base's. A connection that was reset is a `ConnectionError` whichever event loop runs, and retried."""
        try:
            await super().send_packed_command(command, check_health)
        except RuntimeError as error:
            if _CLOSED not in str(error):
                raise
            raise RedisConnectionError(f"the connection was reset: {error}") from error

    async def _send_packed_command(self, command: Iterable[bytes]) -> None:
        """As the base's. With a timeout it runs in another task, and a reader may close the connection first."""
        if not self.is_connected:
            raise RedisConnectionError("the connection was closed before anything was sent")
        await super()._send_packed_command(command)


class _Tcp(ResetNamed, Connection):
    pass


class _Tls(ResetNamed, SSLConnection):
    pass


class _UnixSocket(ResetNamed, UnixDomainSocketConnection):
    pass


_NAMED: Mapping[type[AbstractConnection], type[AbstractConnection]] = {
    Connection: _Tcp,
    SSLConnection: _Tls,
    UnixDomainSocketConnection: _UnixSocket,
}


class Shrinking(ConnectionPool):
    """A pool that is as large as it has to be at the time, not as it once had to be."""

    async def release(self, connection: AbstractConnection) -> None:
        await super().release(connection)
        # The one in front was idle for the longest time.
        while len(self._available_connections) > MAX_IDLE:
            await self._available_connections.pop(0).disconnect()


class ShrinkingPool(Shrinking):
    """For servers that are where their URL says."""

    def __init__(self, connection_class: type[AbstractConnection] = Connection, **options: Any) -> None:  # noqa: ANN401
        super().__init__(connection_class=_NAMED[connection_class], **options)
