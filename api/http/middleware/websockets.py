"""WebSocket connections that end: messages and frames are bounded, and a client that reads nothing is let go.

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

from uvicorn._types import ASGIReceiveEvent, ASGISendEvent
from uvicorn.config import Config
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState

from api.http.middleware.budget import Budget
from api.http.middleware.frames import (
    FRAMES_A_TURN,
    FRAMES_AT_ONCE,
    FRAMES_PER_S,
    IDLE_FRAMES_AT_ONCE,
    IDLE_FRAMES_PER_S,
    FrameHeads,
    TooManyFrames,
)
from rhapsode.contract.speech_socket import MAX_START_BYTES, SOCKET_PATH, STREAMING_TEXT_PATH

SOCKET_PATHS = frozenset({SOCKET_PATH, STREAMING_TEXT_PATH})
"""Where a connection may go on as a WebSocket."""

UNREAD_S = 30.0
"""A client that takes nothing of what is sent for so long hears nothing; an engine speaks for it meanwhile."""

PING_S = 20.0
PONG_S = 20.0

LINGER_S = 2.0
"""How long a connection is read after it was closed for a violation."""

OPTIONS: dict[str, Any] = {
    "ws_per_message_deflate": False,
    "ws_max_size": MAX_START_BYTES,
    "ws_ping_interval": PING_S,
    "ws_ping_timeout": PONG_S,
}
"""For uvicorn's configuration."""

TENANT_FRAMES = "tenant_frames"
"""In the state of a connection: the `Budget` that it shares with others of its tenant, once it is known whose it is."""

_NOT_UTF8 = 1007
_VIOLATION = 1008
_VERSION = b"13"
_KEY_BYTES = 16

# Uvicorn says that each connection came and how it was answered, as it does of requests where its access log is on. No
# name below its own: it resets their levels at its start.
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
        self.logger = self.conn.logger = _logger
        self._unread: asyncio.TimerHandle | None = None
        self._has_received = False
        self._heads = FrameHeads()
        self._frames = Budget(FRAMES_PER_S, FRAMES_AT_ONCE)
        self._idle_frames = Budget(IDLE_FRAMES_PER_S, IDLE_FRAMES_AT_ONCE)
        # Frames that wait for their turn. What was read is bounded by one read: reading pauses meanwhile.
        self._held = b""
        self._turn: asyncio.Handle | None = None
        self._is_refused = False

    def data_received(self, data: bytes) -> None:
        self._has_received = True
        if not self.handshake_initiated:
            super().data_received(data)
            return
        if self._is_refused:
            return
        self._held += data
        if self._turn is None:
            self._take_held()

    async def receive(self) -> ASGIReceiveEvent:
        message = await super().receive()
        self._go_on()
        return message

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
        if message["type"] == "websocket.close":
            self._go_on()

    def keepalive_timeout(self) -> None:
        if self._has_received or self._held or self.read_paused:
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
        self._held = b""
        self._set_turn(None)

    def _take_held(self) -> None:
        """One turn: as many frames as it may have. The application takes a message before the next is read."""
        self._turn = None
        frames = 0
        while self._held and not self.read_paused and not self.transport.is_closing():
            if (wait_s := max(budget.wait_s() for budget in self._budgets())) > 0:
                self._set_turn(self.loop.call_later(wait_s, self._take_held))
                break
            if frames >= FRAMES_A_TURN:
                self._set_turn(self.loop.call_soon(self._take_held))
                break
            try:
                cut = self._heads.cut(self._held, FRAMES_A_TURN - frames)
                self._charge(cut.frames, cut.idle)
            except TooManyFrames as error:
                self._refuse(str(error))
                break
            frames += cut.frames
            taken, self._held = self._held[: cut.num_bytes], self._held[cut.num_bytes :]
            super().data_received(taken)
        self._pause_or_read()

    def _charge(self, frames: int, idle: int) -> None:
        for budget in self._budgets():
            budget.take(frames)
        self._idle_frames.take(idle)
        if self._idle_frames.wait_s() > 0:
            raise TooManyFrames(f"more than {IDLE_FRAMES_PER_S:g} frames a second bring no message")

    def _budgets(self) -> tuple[Budget, ...]:
        shared: Budget | None = self.scope.get("state", {}).get(TENANT_FRAMES)
        return (self._frames,) if shared is None else (self._frames, shared)

    def _refuse(self, reason: str) -> None:
        """Close with this reason. What still comes is read and thrown away: a close at once could lose the reason."""
        self._held = b""
        self._is_refused = True
        if self.close_timer is None:
            self.close_timer = self.loop.call_later(LINGER_S, self.transport.abort)
        if not self.close_sent:
            self.close_sent = True
            self.conn.send_close(_VIOLATION, reason)
            self.queue.put_nowait({"type": "websocket.disconnect", "code": _VIOLATION, "reason": reason})
            self.transport.write(b"".join(self.conn.data_to_send()))

    def _go_on(self) -> None:
        """The application has taken what there was, or it reads no more."""
        if not self._held:
            return
        if self._turn is None and not self.read_paused:
            self._set_turn(self.loop.call_soon(self._take_held))
        # Uvicorn has begun to read again.
        self._pause_or_read()

    def _pause_or_read(self) -> None:
        if self.transport.is_closing():
            return
        if self._held or self.read_paused:
            self.transport.pause_reading()
        else:
            self.transport.resume_reading()

    def _set_turn(self, turn: asyncio.Handle | None) -> None:
        if self._turn is not None:
            self._turn.cancel()
        self._turn = turn

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
