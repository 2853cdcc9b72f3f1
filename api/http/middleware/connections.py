"""HTTP/1.1 connections that end: broken framing is answered with a problem, and no slow client holds one.

Uvicorn's protocol on h11, which knows no time-outs while a request arrives and answers what it cannot read with plain
text. Times are counted while the server is ready to read: a body that waits for the application costs its sender
nothing.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from dataclasses import dataclass, field
from typing import Any, cast

import h11
from ulid import ULID
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.server import ServerState

from api.http.middleware.budget import Budget
from api.http.middleware.framing import StrictConnection, TwoEnds
from api.http.middleware.security_headers import HEADERS
from api.http.middleware.websockets import SOCKET_PATHS, is_handshake
from api.http.problems.codes import PUBLIC_PATH
from api.http.problems.problem import (
    HttpProblem,
    headers_too_large,
    malformed,
    problem_response,
    request_timeout,
    too_many_connections,
)

logger = logging.getLogger(__name__)

MIN_BODY_BYTES_PER_S = 500
"""A body that comes more slowly than this, beyond its first seconds, is no upload."""

MAX_HEAD_BYTES = 16 * 1024
"""Of a request's line and header fields together."""

CHUNKED_BYTES = 4 * 1024
SMALL_CHUNKS_BYTES = 1024
MANY_CHUNKS = 16
"""Of a body in chunks, what is looked at together; and after so many chunks in that, which are small ones."""

CHUNKS_PER_S, CHUNKS_AT_ONCE = 1_000.0, 200
"""Of one body in more than `MANY_CHUNKS`; the rest waits in the connection."""

HANDSHAKES_PER_S = 300.0
"""WebSockets that one process opens, or refuses, so that other requests have their turns between two of them."""

STOP_WAITING = "stop_waiting"
"""In the application's state: called when the server begins to stop, so that held answers are given."""

BEFORE_STOP = "before_stop"
"""In the application's state: awaited before the server begins to stop, with a function that says whether there is no
time left."""

TICK_S = 0.5
LINGER_S = 2.0
"""How long a connection is read after its last answer: closing it at once could lose the answer on its way."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """request_timeout_s: for a request's head, and the grace of its body.

    unread_answer_s: a client that takes none of its answer for so long has gone, or holds the connection for its own
    sake. A player that is paused may take its time.
    """

    max_connections: int
    request_timeout_s: float
    unread_answer_s: float = 300.0
    public_path: str = ""
    handshakes: Budget = field(default_factory=lambda: Budget(HANDSHAKES_PER_S, 1))


@dataclass(slots=True)
class _Arrival:
    """A part of a request on its way: the head, or the body. allowed_s grows with every byte of a body."""

    is_body: bool
    allowed_s: float
    waited_s: float = 0.0


class HttpProtocol(H11Protocol):
    # A class with more than 30 attributes, whose names Python no longer shares, costs each connection a separate
    # dictionary, 1.3 KiB.
    __slots__ = ("_arrival", "_has_received", "_held", "_is_over", "_limits", "_timer", "_turn", "_write_timer")

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        limits: ConnectionLimits,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.conn = StrictConnection(h11.SERVER, MAX_HEAD_BYTES)
        self._limits = limits
        self._arrival: _Arrival | None = None
        self._has_received = False
        self._is_over = False
        # What was read and waits for the next turn; reading pauses meanwhile.
        self._held = b""
        self._turn: asyncio.Handle | None = None
        self._chunks: Budget | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        if len(self.connections) > self._limits.max_connections:
            self._end_with(too_many_connections(self._limits.max_connections))
        else:
            self._watch_arrival(0)

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_over = True
        self._cancel_timers()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._has_received = True
        if self._turn is None:
            self._take(data)
        else:
            self._held += data
            self.transport.pause_reading()

    def shutdown(self) -> None:
        # An application that did not start has no state.
        if (stop_waiting := self.app_state.get(STOP_WAITING)) is not None:
            stop_waiting()
        if self._is_over:
            # A WebSocket that waits for its turn, or an answer that was given.
            self.transport.close()
        else:
            super().shutdown()

    def send_400_response(self, msg: str) -> None:
        """Called where h11 refuses what came."""
        error = sys.exception()
        if isinstance(error, h11.RemoteProtocolError) and error.error_status_hint == 431:
            self._end_with(headers_too_large(MAX_HEAD_BYTES))
        else:
            is_head = isinstance(error, TwoEnds) and error.is_head
            self._end_with(malformed(f"this is not HTTP/1.1: {error or msg}"), is_head=is_head)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self._is_over and self._is_body_arriving():
            # It was answered before it was complete. The rest is read and dropped, up to a limit.
            self._arrival = _Arrival(is_body=True, allowed_s=LINGER_S)
            self._keep_time()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._write_timer = self.loop.call_later(self._limits.unread_answer_s, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """In its turn. The connection is not read meanwhile."""
        self._is_over = True
        self._cancel_timers()
        self.transport.pause_reading()
        self.loop.call_later(self._limits.handshakes.wait_s(), self._open_websocket, event)
        self._limits.handshakes.take(1)

    def _open_websocket(self, event: h11.Request) -> None:
        if not self.transport.is_closing():
            super().handle_websocket_upgrade(event)
            self.transport.resume_reading()

    def _should_upgrade(self) -> bool:
        """Elsewhere there is nothing to upgrade to; a server may ignore the wish (RFC 9110, 7.8)."""
        return self.scope["path"] in SOCKET_PATHS and is_handshake(self.scope["method"], self.headers)

    def _take(self, data: bytes) -> None:
        """As much of it as a turn may have; the rest is held."""
        # A head is bounded by what h11 holds of one that is not complete, so it is shown no more than that at once.
        start, chunks = 0, MANY_CHUNKS + 1
        while start < len(data) and not self._is_over:
            if self._chunks is not None and (wait_s := self._chunks.wait_s()) > 0:
                self._hold(data[start:], wait_s)
                break
            if self._is_body_arriving() and not self.conn.is_chunked:
                size = MAX_HEAD_BYTES
            else:
                size = CHUNKED_BYTES if chunks <= MANY_CHUNKS else SMALL_CHUNKS_BYTES
            before = self.conn.num_chunks
            super().data_received(data[start : start + size])
            start += size
            chunks = max(0, self.conn.num_chunks - before)
            self._charge(chunks)
        if not self._is_over:
            self._watch_arrival(min(start, len(data)))

    def _charge(self, chunks: int) -> None:
        if self._chunks is None and chunks > MANY_CHUNKS:
            self._chunks = Budget(CHUNKS_PER_S, CHUNKS_AT_ONCE)
        if self._chunks is not None:
            self._chunks.take(chunks)

    def _hold(self, data: bytes, wait_s: float) -> None:
        self._held = data
        self._turn = self.loop.call_later(wait_s, self._take_held)
        self.transport.pause_reading()

    def _take_held(self) -> None:
        self._turn = None
        held, self._held = self._held, b""
        self._take(held)
        if self._turn is None and not self.flow.read_paused and not self.transport.is_closing():
            self.transport.resume_reading()

    def _watch_arrival(self, num_bytes: int) -> None:
        """Count the time for what is still missing of a request; nothing is counted between two."""
        if self._is_body_arriving():
            if self._arrival is None or not self._arrival.is_body:
                self._arrival = _Arrival(is_body=True, allowed_s=self._limits.request_timeout_s)
            elif not self._is_answered():
                self._arrival.allowed_s += num_bytes / MIN_BODY_BYTES_PER_S
        elif self._is_head_arriving():
            if self._arrival is None or self._arrival.is_body:
                self._arrival = _Arrival(is_body=False, allowed_s=self._limits.request_timeout_s)
        else:
            self._arrival = None
        self._keep_time()

    def _keep_time(self) -> None:
        if self._arrival is None and self._timer is not None:
            self._timer.cancel()
            self._timer = None
        elif self._arrival is not None and self._timer is None:
            self._timer = self.loop.call_later(TICK_S, self._tick)

    def _tick(self) -> None:
        self._timer = None
        arrival = self._arrival
        if self._is_over or arrival is None:
            return
        if not (self.flow.read_paused or self._held or self._is_asked_to_wait()):
            arrival.waited_s += TICK_S
        if arrival.waited_s < arrival.allowed_s:
            self._keep_time()
        elif not self._has_received:
            self._is_over = True
            self._cancel_timers()
            self.transport.close()
        else:
            self._end_with(request_timeout("body" if arrival.is_body else "header"))

    def _is_body_arriving(self) -> bool:
        return self.conn.their_state is h11.SEND_BODY

    def _is_head_arriving(self) -> bool:
        is_idle = self.conn.their_state is h11.IDLE
        # Between two requests uvicorn's own keep-alive clock runs.
        return is_idle and (not self._has_received or bool(self.conn.trailing_data[0]))

    def _is_answered(self) -> bool:
        request = self._request()
        return request is not None and request.response_complete

    def _request(self) -> RequestResponseCycle | None:
        """The connection's latest; uvicorn's annotation leaves out that at first there is none."""
        return cast("RequestResponseCycle | None", self.cycle)

    def _is_asked_to_wait(self) -> bool:
        """The client sends its body once we ask for it, which the application does by reading."""
        return self._is_body_arriving() and self.conn.they_are_waiting_for_100_continue

    def _end_with(self, problem: HttpProblem, *, is_head: bool = False) -> None:
        """Answer, if that is still possible, and close. is_head: what is refused was a HEAD, and is no request here."""
        self._is_over = True
        self._cancel_timers()
        logger.debug("connection ended", extra={"status": problem.status, "detail": problem.detail})
        request = None if self._is_answered() else self._request()
        is_answering = request is not None and request.response_started
        if request is not None:
            # What it sends from now on goes nowhere.
            request.disconnected = True
            request.message_event.set()
        if is_answering or self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.abort()
            return
        if request is None:
            self._send(problem, "", has_body=not is_head)
        else:
            self._send(problem, request.scope["path"], has_body=request.scope["method"] != "HEAD")
        self._linger()

    def _send(self, problem: HttpProblem, path: str, *, has_body: bool) -> None:
        request_id = f"req_{str(ULID()).lower()}"
        PUBLIC_PATH.set(self._limits.public_path)
        response = problem_response(problem, path, request_id)
        headers = [*response.headers.items(), *HEADERS.items(), ("X-Request-ID", request_id), ("Connection", "close")]
        self._write(h11.Response(status_code=response.status_code, reason=problem.title.encode(), headers=headers))
        if has_body:
            self._write(h11.Data(data=bytes(response.body)))
        self._write(h11.EndOfMessage())

    def _write(self, event: h11.Event) -> None:
        self.transport.write(self.conn.send(event) or b"")

    def _linger(self) -> None:
        if self.transport.can_write_eof():
            self.transport.write_eof()
            # What is still coming is read and thrown away; a client that is done closes its end, which closes ours.
            self.flow.resume_reading()
            self.transport.resume_reading()
            self._timer = self.loop.call_later(LINGER_S, self.transport.abort)
        else:
            self.transport.close()

    def _cancel_timers(self) -> None:
        for timer in (self._timer, self._write_timer, self._turn):
            if timer is not None:
                timer.cancel()
        self._timer = self._write_timer = self._turn = None
        self._held = b""
        # Uvicorn's, which would send into a connection that is no more.
        self._unset_keepalive_if_required()
