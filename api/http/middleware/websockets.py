"""WebSocket connections that end: a message is no longer than it may be, and a listener that does not listen is let go.

Uvicorn's protocol on the `websockets` library. Messages are not compressed: audio would hardly be shorter, and each
would take its time; nor is there a window of memory for each connection.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import logging
from collections.abc import Iterable
from typing import Any

from uvicorn._types import ASGISendEvent
from uvicorn.config import Config
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState

from rhapsode.contract.speech_socket import MAX_START_BYTES, SOCKET_PATH, STREAMING_TEXT_PATH

SOCKET_PATHS = frozenset({SOCKET_PATH, STREAMING_TEXT_PATH})
"""Where a connection may go on as a WebSocket."""

UNREAD_S = 30.0
"""A client that takes nothing of what is sent for so long hears nothing; an engine speaks for it meanwhile."""

PING_S = 20.0
PONG_S = 20.0

OPTIONS: dict[str, Any] = {
    "ws_per_message_deflate": False,
    "ws_max_size": MAX_START_BYTES,
    "ws_ping_interval": PING_S,
    "ws_ping_timeout": PONG_S,
}
"""For uvicorn's configuration."""

_NOT_UTF8 = 1007
_VERSION = b"13"
_KEY_BYTES = 16

# Uvicorn says that each connection came and how it was answered, as it does of requests where its access log is on. No
# name below its own, whose levels it sets anew at its start.
_logger = logging.getLogger(__name__)
_logger.setLevel(logging.WARNING)


class WebSocketProtocol(WebSocketsSansIOProtocol):
    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.logger = _logger
        self._unread: asyncio.TimerHandle | None = None
        self._has_received = False

    def send_keepalive_ping(self) -> None:
        self._has_received = False
        super().send_keepalive_ping()

    def send_receive_event_to_app(self) -> None:
        if self.curr_msg_data_type == "text" and not _is_utf8(b"".join(self.frames)):
            # Said to its sender; to uvicorn it is worth a traceback in the log.
            self.frames = []
            self.conn.send_close(_NOT_UTF8, "a text is UTF-8")
            self.handle_parser_exception()
            return
        super().send_receive_event_to_app()

    async def send(self, message: ASGISendEvent) -> None:
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body", False):
            # A handshake that was answered otherwise is over too; uvicorn takes it for one that was forgotten.
            self.handshake_complete = True

    def data_received(self, data: bytes) -> None:
        self._has_received = True
        super().data_received(data)

    def keepalive_timeout(self) -> None:
        if self._has_received or self.read_paused:
            # A client that says something is there: the pong lies behind what this process has not come round to read.
            self._has_received = False
            self.pong_timer = self.loop.call_later(PONG_S, self.keepalive_timeout)
        else:
            super().keepalive_timeout()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.call_later(UNREAD_S, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._forget_unread()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_unread()
        super().connection_lost(exc)

    def _forget_unread(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None


def is_handshake(method: str, headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether a request with the wish for WebSocket can be one of its handshakes (RFC 6455, 4.2.1)."""
    fields = dict(headers)
    names = [part.strip().lower() for part in fields.get(b"connection", b"").split(b",")]
    return (
        method == "GET"
        and fields.get(b"upgrade", b"").lower() == b"websocket"
        and b"upgrade" in names
        and fields.get(b"sec-websocket-version") == _VERSION
        and _is_key(fields.get(b"sec-websocket-key", b""))
        and fields.get(b"content-length", b"0") == b"0"
        and b"transfer-encoding" not in fields
    )


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_key(value: bytes) -> bool:
    try:
        return len(base64.b64decode(value, validate=True)) == _KEY_BYTES
    except binascii.Error:
        return False
