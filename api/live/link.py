"""One WebSocket to one worker, which carries all streams that this process has there.

A link is kept open as long as its worker is known. It sends a ping several times a second. A worker that sends nothing
is suspect long before its connection breaks. Streams whose buffers would run empty move to another worker.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections import deque
from collections.abc import Iterator
from typing import Any, Protocol

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException
from websockets.frames import CloseCode

from storage.live.messages import (
    MAX_MESSAGE_BYTES,
    CancelStream,
    FromWorker,
    Hello,
    LiveLoad,
    MessageMalformed,
    ToWorker,
    decode_from_worker,
    encode_message,
)
from storage.queue.worker_registry import LiveAddress

logger = logging.getLogger(__name__)

BUSY_PING_S = 0.1
IDLE_PING_S = 0.25
SUSPECT_AFTER_S = 0.2
"""Without a word while an answer is due; a worker that always takes long is given five times what it takes."""

DEAD_AFTER_S = 5.0
OPEN_TIMEOUT_S = 3.0
CLOSE_TIMEOUT_S = 0.5
FIRST_REST_S, LONGEST_REST_S = 0.05, 2.0
MAX_UNSENT_BYTES = 16 << 20


class Passenger(Protocol):
    """A stream's place on a link."""

    def take(self, head: FromWorker, payload: bytes) -> None: ...

    def lead_s(self) -> float:
        """How long its listener has something to hear yet."""
        ...

    def lose(self) -> None:
        """The connection is gone, and with it everything the worker had to do with this stream."""
        ...


class WorkerLink:
    """For the event loop. free: places as far as is known here; step_ms: what a frame takes there."""

    def __init__(self, name: str, address: LiveAddress, tls: ssl.SSLContext) -> None:
        self.name = name
        self.address = address
        self.is_draining = False
        self.hello: Hello | None = None
        self.free = 0
        self.step_ms = 0.0
        self._tls = tls
        self._passengers: dict[str, Passenger] = {}
        self._socket: ClientConnection | None = None
        self._unsent: deque[bytes] = deque()
        self._unsent_bytes = 0
        self._has_unsent = asyncio.Event()
        self._waited_s = 0.0
        self._pong_due = False
        self._answer_s = 0.0
        self._told = ""

    @property
    def is_open(self) -> bool:
        return self.hello is not None

    @property
    def takes_streams(self) -> bool:
        return self.hello is not None and not self.is_draining and not self.is_suspect

    @property
    def is_suspect(self) -> bool:
        return self._waited_s > max(SUSPECT_AFTER_S, 5 * self._answer_s)

    @property
    def passengers(self) -> tuple[Passenger, ...]:
        return tuple(self._passengers.values())

    def board(self, wire_id: str, passenger: Passenger, message: bytes) -> None:
        """The message that opens the stream, whose answers the passenger takes from now on."""
        self._passengers[wire_id] = passenger
        self.free -= 1
        self._post(message)

    def leave(self, wire_id: str, *, is_over: bool) -> None:
        """Drops the rest of this stream; the worker gets an order to stop unless the stream has ended."""
        if self._passengers.pop(wire_id, None) is not None and not is_over:
            self.say(CancelStream(stream=wire_id))

    def say(self, head: ToWorker) -> None:
        self._post(encode_message(head))

    def pass_time(self, seconds: float) -> None:
        """Called often. A connection that has been silent for too long is broken off."""
        if self._socket is None or not self._pong_due:
            return
        self._waited_s += seconds
        if self._waited_s > DEAD_AFTER_S or self._unsent_bytes > MAX_UNSENT_BYTES:
            self._socket.transport.abort()

    async def run(self) -> None:
        """Connect, serve, and again, until cancelled."""
        rest_s = FIRST_REST_S
        while True:
            try:
                async with connect(
                    self.address.url,
                    additional_headers={"Authorization": f"Bearer {self.address.token}"},
                    compression=None,
                    proxy=None,
                    ping_interval=None,
                    open_timeout=OPEN_TIMEOUT_S,
                    close_timeout=CLOSE_TIMEOUT_S,
                    max_size=MAX_MESSAGE_BYTES,
                    **self._security(),
                ) as socket:
                    rest_s = FIRST_REST_S
                    await self._serve(socket)
            except* (OSError, WebSocketException, MessageMalformed) as group:
                self._report(group)
            except* Exception:
                # A fault of ours: the streams go on over the next connection, or elsewhere.
                logger.exception("a link to a worker failed", extra={"worker": self.name})
            finally:
                self._disconnected()
            await asyncio.sleep(rest_s)
            rest_s = min(2 * rest_s, LONGEST_REST_S)

    def _security(self) -> dict[str, Any]:
        if not self.address.url.startswith("wss:"):
            return {}
        named = {"server_hostname": self.address.server_name} if self.address.server_name else {}
        return {"ssl": self._tls, **named}

    def _report(self, group: BaseExceptionGroup[Exception]) -> None:
        reasons = "; ".join(_said(each) for each in _leaves(group))
        said = {"worker": self.name, "url": self.address.url, "reason": reasons}
        if self.is_open:
            self._told = ""
            logger.warning("the connection to a worker ended", extra=said)
        elif reasons != self._told:
            # Once, and not at every try.
            self._told = reasons
            logger.warning("a worker cannot be reached for live speech", extra=said)

    async def _serve(self, socket: ClientConnection) -> None:
        self._socket = socket
        try:
            async with asyncio.TaskGroup() as tasks:
                helpers = [tasks.create_task(self._send(socket)), tasks.create_task(self._ask(socket))]
                await self._receive(socket)
                for helper in helpers:
                    helper.cancel()
        except asyncio.CancelledError:
            await socket.close(CloseCode.GOING_AWAY)
            raise

    async def _receive(self, socket: ClientConnection) -> None:
        async for message in socket:
            if isinstance(message, str):
                raise MessageMalformed("messages are binary")
            self._take(message)

    async def _send(self, socket: ClientConnection) -> None:
        while True:
            await self._has_unsent.wait()
            while self._unsent:
                message = self._unsent.popleft()
                self._unsent_bytes -= len(message)
                await socket.send(message)
            self._has_unsent.clear()

    async def _ask(self, socket: ClientConnection) -> None:
        loop = asyncio.get_running_loop()
        while True:
            asked_s = loop.time()
            answer = await socket.ping()
            self._pong_due = True
            await answer
            self._pong_due = False
            self._waited_s = 0.0
            self._answer_s += 0.2 * (loop.time() - asked_s - self._answer_s)
            await asyncio.sleep(BUSY_PING_S if self._passengers else IDLE_PING_S)

    def _take(self, message: bytes) -> None:
        self._waited_s = 0.0
        received = decode_from_worker(message)
        match received.head:
            case Hello() as hello:
                self.hello, self.free = hello, hello.live_slots
            case LiveLoad() as load:
                self.free, self.step_ms = load.free, load.step_ms or 0.0
            case head:
                # Of one that was cancelled, more may be on its way.
                if (passenger := self._passengers.get(head.stream)) is not None:
                    passenger.take(head, received.payload)

    def _post(self, message: bytes) -> None:
        if self._socket is not None:
            self._unsent.append(message)
            self._unsent_bytes += len(message)
            self._has_unsent.set()

    def _disconnected(self) -> None:
        self._socket, self.hello, self.free = None, None, 0
        self._waited_s, self._pong_due, self._unsent_bytes = 0.0, False, 0
        self._unsent.clear()
        lost, self._passengers = self._passengers, {}
        # They go on elsewhere in this order, one after the other.
        for passenger in sorted(lost.values(), key=lambda each: each.lead_s()):
            passenger.lose()


def _said(error: BaseException) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        hint = "RHAPSODE_LIVE_TLS_NAME there names what it is issued to, RHAPSODE_TLS_CA here who has issued it"
        return f"its certificate is not accepted: {error.verify_message} ({hint})"
    return str(error) or type(error).__name__


def _leaves(group: BaseExceptionGroup[Exception]) -> Iterator[BaseException]:
    for each in group.exceptions:
        if isinstance(each, BaseExceptionGroup):
            yield from _leaves(each)
        else:
            yield each
