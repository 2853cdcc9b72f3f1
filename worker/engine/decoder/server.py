"""The connections of a decoder worker: engines of other hosts, each with a session at the lane that they share.

WebSocket as live speech has it: TLS by certificates, messages of bounded size, signs of life both ways.
"""

from __future__ import annotations

import asyncio
import hmac
import http
import logging
import ssl

from websockets.asyncio.server import ServerConnection, serve
from websockets.http11 import Request, Response

from worker.engine.decoder.link import CLOSE_S, RELEASE_HEADER, Exchange
from worker.engine.decoder.protocol import RELEASE, DecoderReady
from worker.engine.decoder.sessions import DecoderSession, SharedLane
from worker.engine.decoder.wire import MAX_FRAMES_BYTES, Codebooks
from worker.engine.settings import DecoderAddress

logger = logging.getLogger(__name__)

HANDSHAKE_S = 5.0
PING_EVERY_S, PING_PATIENCE_S = 5.0, 10.0
"""An engine that does not answer for so long has nothing decoded any more."""


class DecoderServer:
    """`serve` it in an event loop; the lane has threads."""

    def __init__(self, address: DecoderAddress, shared: SharedLane, ready: DecoderReady, codebooks: Codebooks) -> None:
        self._address = address
        self._shared = shared
        self._ready = ready
        self._codebooks = codebooks

    async def serve(self, tls: ssl.SSLContext | None, stop: asyncio.Event) -> None:
        """Until `stop`: engines go on at other decoders then, or here when it is back. Raises OSError at its start."""
        async with serve(
            self._serve_engine,
            self._address.host,
            self._address.port,
            ssl=tls,
            ssl_handshake_timeout=None if tls is None else HANDSHAKE_S,
            process_request=self._admit,
            compression=None,
            server_header=None,
            open_timeout=HANDSHAKE_S,
            ping_interval=PING_EVERY_S,
            ping_timeout=PING_PATIENCE_S,
            close_timeout=CLOSE_S,
            max_size=MAX_FRAMES_BYTES,
            logger=logging.getLogger("worker.engine.decoder.websocket"),
        ):
            logger.info("decoder ready", extra={"url": str(self._address)})
            await stop.wait()

    def _admit(self, connection: ServerConnection, request: Request) -> Response | None:
        """None for an engine of ours; an answer for all others."""
        given = request.headers.get_all("Authorization")
        wanted = f"Bearer {self._address.token}"
        if len(given) != 1 or not hmac.compare_digest(given[0].encode(), wanted.encode()):
            return connection.respond(http.HTTPStatus.UNAUTHORIZED, "it needs another token\n")
        if request.path != f"/{self._address.kind}":
            return connection.respond(http.HTTPStatus.NOT_FOUND, f"it decodes on {self._address.kind}\n")
        if request.headers.get_all(RELEASE_HEADER) != [RELEASE.hex()]:
            return connection.respond(http.HTTPStatus.UPGRADE_REQUIRED, "it is of another release\n")
        return None

    async def _serve_engine(self, connection: ServerConnection) -> None:
        exchange = Exchange(asyncio.get_running_loop())
        session = DecoderSession(exchange.put, self._shared)
        exchange.put(self._ready)
        try:
            await exchange.run(connection, session.act_on, self._codebooks)
        except (OSError, KeyError, TypeError) as error:
            logger.info("an engine has gone", extra={"reason": repr(error)})
        finally:
            session.close()
