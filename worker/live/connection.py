"""One API process at the worker: its streams, and what goes out to it in order.

Only processes of our own are let in: what breaks the protocol ends the connection. With the connection all of
its streams end, and the engine has their slots back with the next frame.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed
from websockets.frames import CloseCode

from storage.live.messages import (
    ENGINE_DIED,
    FULL,
    WORKER_LEAVING,
    CancelStream,
    Consumed,
    ExtendStream,
    FromWorker,
    Hello,
    LiveLoad,
    MessageMalformed,
    Open,
    OpenRefused,
    StreamFailed,
    decode_to_worker,
    encode_message,
)
from worker.errors import PermanentItemError
from worker.live.parts import LiveParts
from worker.live.places import LivePlaces
from worker.live.stream import SpokenStream

logger = logging.getLogger(__name__)

LOAD_EVERY_S = 0.5
RETRY_AFTER_S = 0.5

ReadStepMs = Callable[[], float | None]


class LiveConnection:
    """`serve` it once."""

    def __init__(
        self, socket: ServerConnection, parts: LiveParts, places: LivePlaces, read_step_ms: ReadStepMs
    ) -> None:
        self._socket = socket
        self._parts = parts
        self._places = places
        self._read_step_ms = read_step_ms
        self._id = uuid.uuid4().hex
        self._streams: dict[str, SpokenStream] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._outgoing: deque[bytes] = deque()
        self._has_outgoing = asyncio.Event()
        self._load_changed = asyncio.Event()
        self.is_leaving = False
        """Whether new streams are refused."""

    async def serve(self) -> None:
        """Until the other side goes, or breaks the protocol."""
        self._send(self._hello())
        helpers = (
            asyncio.create_task(self._helped(self._write())),
            asyncio.create_task(self._helped(self._tell_load())),
        )
        self._places.watch(self._load_changed.set)
        try:
            async for message in self._socket:
                self._take(message)
        except ConnectionClosed:
            # An API process that was ended says no goodbye.
            logger.info("an API process is gone", extra={"streams": len(self._streams)})
        except MessageMalformed as error:
            logger.warning("not our protocol", extra={"error": str(error)})
            await self._socket.close(CloseCode.PROTOCOL_ERROR, str(error)[:120])
        finally:
            self._places.unwatch(self._load_changed.set)
            await self._end(helpers)

    @property
    def num_streams(self) -> int:
        return len(self._streams)

    def hand_over(self) -> None:
        """Every stream ends here, to go on with another worker."""
        self.is_leaving = True
        for name, stream in list(self._streams.items()):
            stream.stop()
            self._send(StreamFailed(stream=name, code=WORKER_LEAVING, detail="the worker is leaving"))

    async def flushed(self) -> None:
        """Once all that was said is on its way."""
        while self._outgoing and not self._socket.close_code:
            await asyncio.sleep(0.01)

    # ------------------------------------------------------------------------------------------ what comes

    def _take(self, message: str | bytes) -> None:
        """Raises `MessageMalformed`."""
        if isinstance(message, str):
            raise MessageMalformed("text in place of bytes")
        received = decode_to_worker(message)
        match received.head:
            case Open():
                self._open(received.head, received.payload)
            case ExtendStream():
                self._extend(received.head)
            case Consumed():
                if stream := self._streams.get(received.head.stream):
                    stream.consumed(received.head.num_samples)
            case CancelStream():
                if stream := self._streams.get(received.head.stream):
                    stream.stop()

    def _open(self, asked: Open, codes: bytes) -> None:
        if asked.stream in self._streams:
            raise MessageMalformed("a stream of this id is under way")
        if self.is_leaving:
            self._refuse(asked, WORKER_LEAVING, "the worker is leaving")
        elif self._parts.engine.stats().lacks_decoder:
            self._refuse(asked, ENGINE_DIED, "the worker has no decoder in reach")
        elif not self._places.take():
            self._refuse(asked, FULL, f"all {self._places.number} live places are taken")
        else:
            stream = SpokenStream(asked, codes, self._id, self._parts, self._places, self._send)
            self._streams[asked.stream] = stream
            task = asyncio.create_task(self._run(asked.stream, stream))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _extend(self, head: ExtendStream) -> None:
        stream = self._streams.get(head.stream)
        if stream is None:
            return
        try:
            stream.extend(head.text, is_last=head.is_last)
        except PermanentItemError as failure:
            stream.stop()
            self._send(StreamFailed(stream=head.stream, code=failure.error.code, detail=failure.error.detail))

    async def _run(self, name: str, stream: SpokenStream) -> None:
        try:
            await stream.run()
        finally:
            del self._streams[name]
            self._places.give_back()

    def _refuse(self, asked: Open, code: str, detail: str) -> None:
        self._send(OpenRefused(stream=asked.stream, code=code, detail=detail, retry_after_s=RETRY_AFTER_S))

    async def _end(self, helpers: tuple[asyncio.Task[None], ...]) -> None:
        for helper in helpers:
            helper.cancel()
        for stream in self._streams.values():
            stream.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*helpers, *self._tasks, return_exceptions=True)

    # ------------------------------------------------------------------------------------------ what goes

    def _send(self, head: FromWorker, *payload: bytes) -> None:
        """In order, without waiting: a stream that its listener does not take stops by itself, see `stream.LEAD_S`."""
        self._outgoing.append(encode_message(head, *payload))
        self._has_outgoing.set()

    async def _helped(self, work: Coroutine[Any, Any, None]) -> None:
        """Where a helper fails, the connection ends, and its streams go on elsewhere."""
        try:
            await work
        except Exception:
            logger.exception("a connection of an API process failed")
            await self._socket.close(CloseCode.INTERNAL_ERROR)

    async def _write(self) -> None:
        try:
            while True:
                await self._has_outgoing.wait()
                self._has_outgoing.clear()
                while self._outgoing:
                    await self._socket.send(self._outgoing[0])
                    self._outgoing.popleft()
        except ConnectionClosed:
            # Who reads in `serve` hears of it as well, and ends the streams.
            return

    async def _tell_load(self) -> None:
        while True:
            self._send(self._load())
            self._load_changed.clear()
            with suppress(TimeoutError):
                # `wait_for` of Python 3.11 may swallow the cancellation that ends this.
                async with asyncio.timeout(LOAD_EVERY_S):
                    await self._load_changed.wait()

    def _load(self) -> LiveLoad:
        free = 0 if self.is_leaving else self._places.free
        return LiveLoad(free=free, live_slots=self._places.number, step_ms=self._read_step_ms())

    def _hello(self) -> Hello:
        info = self._parts.engine.info
        return Hello(
            worker=self._parts.worker,
            model=self._parts.model,
            revision=info.revision,
            sample_rate_hz=info.sample_rate_hz,
            samples_per_frame=info.samples_per_frame,
            num_codebooks=info.num_codebooks,
            live_slots=self._places.number,
        )
