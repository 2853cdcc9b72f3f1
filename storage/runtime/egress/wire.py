"""One connection to a receiver in an event loop: a request goes out, its answer comes in, then perhaps the next."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import h11

from storage.runtime.egress.public_addresses import Address

MAX_HEAD_BYTES = 64 * 1024


class StaleConnection(ConnectionError):
    """The peer had given up a kept connection before it answered a byte: what was asked may be asked on another."""


@dataclass(slots=True)
class RawAnswer:
    """`headers`: names in lower case."""

    status: int
    headers: Sequence[tuple[bytes, bytes]]
    body: bytearray = field(default_factory=bytearray)
    is_whole: bool = False


class Wire(asyncio.Protocol):
    """One exchange at a time. Whatever comes while nothing was asked ends the connection: it would be taken for the
    answer to the next request.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        self.idle_since_s = 0.0
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
        self._transport: asyncio.Transport | None = None
        self._coming: asyncio.Future[RawAnswer] | None = None
        self._answer: RawAnswer | None = None
        self._max_bytes = 0
        self._num_asked = 0
        self._is_closed = False

    @property
    def can_ask(self) -> bool:
        """Whether another request may go out."""
        return not self._is_closed and self._coming is None and self._http.our_state is h11.IDLE

    async def ask(self, request: h11.Request, body: bytes, max_bytes: int) -> RawAnswer:
        """The answer; of its body, when it is longer than that, no more than `max_bytes`.

        Raises `StaleConnection`, `OSError` or `h11.RemoteProtocolError`. Ended early, it ends the connection.
        """
        if self._transport is None or not self.can_ask:
            raise StaleConnection
        self._coming = asyncio.get_running_loop().create_future()
        self._answer, self._max_bytes = None, max_bytes
        self._num_asked += 1
        events = (request, h11.Data(data=body), h11.EndOfMessage())
        self._transport.write(b"".join(self._http.send(event) or b"" for event in events))
        try:
            return await self._coming
        except BaseException:
            self.close()
            raise
        finally:
            self._coming = None

    def close(self) -> None:
        """At once, whatever was still to be written. Idempotent."""
        self._is_closed = True
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if not isinstance(transport, asyncio.Transport):
            raise TypeError(f"a connection of {type(transport).__name__}")
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._coming is None or self._coming.done():
            self.close()
            return
        self._read(data)

    def eof_received(self) -> bool:
        if self._coming is not None and not self._coming.done():
            self._read(b"")
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_closed = True
        self._fail(exc or ConnectionResetError("the connection was closed before the answer's end"))

    def _read(self, data: bytes) -> None:
        """An empty `data` is the stream's end."""
        try:
            if not data and self._answer is None and self._num_asked > 1:
                raise ConnectionResetError("closed")
            self._http.receive_data(data)
            while self._took(self._http.next_event()):
                pass
        except (h11.RemoteProtocolError, ConnectionResetError) as error:
            self._fail(error)

    def _took(self, event: object) -> bool:
        """Whether there may be another event in what was read."""
        if isinstance(event, h11.Response):
            self._answer = RawAnswer(event.status_code, event.headers)
            return True
        if self._answer is not None and isinstance(event, h11.Data):
            return self._append(self._answer, event.data)
        if self._answer is not None and isinstance(event, h11.EndOfMessage):
            self._answer.is_whole = True
            self._end(self._answer)
            return False
        return isinstance(event, h11.InformationalResponse)

    def _append(self, answer: RawAnswer, data: bytes) -> bool:
        answer.body += data[: self._max_bytes + 1 - len(answer.body)]
        if len(answer.body) <= self._max_bytes:
            return True
        del answer.body[self._max_bytes :]
        self._end(answer)
        return False

    def _end(self, answer: RawAnswer) -> None:
        can_go_on = self._http.our_state is h11.DONE and self._http.their_state is h11.DONE
        if can_go_on and not self._http.trailing_data[0]:
            self._http.start_next_cycle()
        else:
            self.close()
        if self._coming is not None and not self._coming.done():
            self._coming.set_result(answer)

    def _fail(self, error: Exception) -> None:
        if self._coming is None or self._coming.done():
            return
        is_stale = self._num_asked > 1 and self._answer is None and isinstance(error, ConnectionError)
        self._coming.set_exception(StaleConnection() if is_stale else error)
