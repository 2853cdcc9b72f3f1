"""A server among several at one port: the kernel spreads connections over their listeners, and each looks after all.

With one listener for all the first process to wake took every connection that waited, and as they are kept open the
work on them: seen with 64 clients and two processes, 64 and 0. With one for each, what the kernel had given to one that
died or stands still would wait for it: so every process has the others' listeners too, and now and then takes from them
what was left.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Sequence
from typing import Any, cast

import uvicorn

logger = logging.getLogger(__name__)

LOOK_S = 0.1
NEXT_LOOK_S = 0.01
"""Where there was something."""

MOST_AT_ONCE = 16
"""From one listener: the rest is for the others."""


class SharedPortServer(uvicorn.Server):
    """others: listeners of the same port whose own processes may be away."""

    def __init__(self, config: uvicorn.Config, others: Sequence[socket.socket]) -> None:
        super().__init__(config)
        self._others = others

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and self._others:
            self.servers.append(cast("asyncio.Server", _LeftConnections(self._others, self)))


class _LeftConnections:
    """What uvicorn asks of a server of the event loop. For its loop alone."""

    def __init__(self, listeners: Sequence[socket.socket], server: uvicorn.Server) -> None:
        self._listeners = listeners
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._arriving: set[asyncio.Task[None]] = set()
        self._timer = self._loop.call_later(LOOK_S, self._look)

    def close(self) -> None:
        self._timer.cancel()
        for listener in self._listeners:
            listener.close()

    async def wait_closed(self) -> None:
        await asyncio.gather(*self._arriving)

    def _look(self) -> None:
        # Set first: an unexpected error in this look does not end the looks.
        self._timer = self._loop.call_later(LOOK_S, self._look)
        if sum(map(self._take, self._listeners)):
            self._timer.cancel()
            self._timer = self._loop.call_later(NEXT_LOOK_S, self._look)

    def _take(self, listener: socket.socket) -> int:
        """How many were waiting, as far as they were taken."""
        for number in range(MOST_AT_ONCE):
            try:
                connection, _ = listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return number
            except OSError as error:
                logger.warning("no connection can be taken", extra={"error": str(error)})
                return number
            arriving = self._loop.create_task(self._serve(connection))
            self._arriving.add(arriving)
            arriving.add_done_callback(self._arriving.discard)
        return MOST_AT_ONCE

    async def _serve(self, connection: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(self._protocol, connection)
        except OSError as error:
            logger.debug("a connection ended before it was served", extra={"error": str(error)})
            connection.close()
        except Exception:  # one connection fails, and the process goes on accepting others
            logger.exception("a connection cannot be served")
            connection.close()

    def _protocol(self) -> asyncio.Protocol:
        config: Any = self._server.config
        state = self._server.lifespan.state
        return config.http_protocol_class(config=config, server_state=self._server.server_state, app_state=state)
