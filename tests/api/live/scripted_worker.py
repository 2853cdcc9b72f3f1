"""A worker's end of the wire that does what a test says, also what the real one does only in bad hours.

It says what the fake engine would (`fake_speech`), a text as one segment, and goes on behind what was heard.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import numpy as np
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from rhapsode.contract.jobs.narration import Narration
from storage.live.address import LiveAddress
from storage.live.messages import (
    FULL,
    Audio,
    CancelStream,
    Consumed,
    ExtendStream,
    FromWorker,
    Hello,
    LiveLoad,
    Open,
    Opened,
    OpenRefused,
    SegmentBegins,
    SegmentSpoken,
    StreamDone,
    StreamFailed,
    ToWorker,
    decode_to_worker,
    encode_message,
)
from storage.live.orders import LiveOrder
from storage.queue.worker_registry import WorkerReport, WorkerRole
from worker.engine.fake import NUM_CODEBOOKS, SAMPLE_RATE_HZ, SAMPLES_PER_FRAME, fake_speech

MODEL, REVISION = "fake", "fake-1"


def order(text: str, **more: object) -> LiveOrder:
    narration = {"model": MODEL, "voice": "ada"} | {k: v for k, v in more.items() if k in Narration.model_fields}
    rest = {name: value for name, value in more.items() if name not in Narration.model_fields}
    return LiveOrder.model_validate({"tenant": "ann", "narration": narration, "text": text, **rest}, strict=False)


def expected(text: str, seed: int = 0) -> bytes:
    pcm, _ = fake_speech(text, seed)
    return _s16le(pcm)


def _s16le(pcm: np.ndarray) -> bytes:
    return np.round(pcm * 32767).astype("<i2").tobytes()


@dataclass
class ScriptedWorker:
    """frame_s: between two frames. stops_at: a frame at which it falls silent, and answers no ping either.

    fails_at: a frame at which it says `failed` with `failure`.
    """

    name: str
    slots: int = 8
    frame_s: float = 0.0
    stops_at: int | None = None
    fails_at: int | None = None
    failure: str = "engine_died"
    revision: str = REVISION
    refusal: OpenRefused | None = None
    opened: list[Open] = field(default_factory=list[Open])
    cancelled: list[str] = field(default_factory=list[str])
    consumed: int = 0
    address: LiveAddress | None = None
    speaking: dict[str, asyncio.Task[None]] = field(default_factory=dict[str, asyncio.Task[None]])
    texts: dict[str, asyncio.Queue[ExtendStream]] = field(default_factory=dict[str, asyncio.Queue[ExtendStream]])
    connections: list[ServerConnection] = field(default_factory=list[ServerConnection])
    hangs: asyncio.Event = field(default_factory=asyncio.Event)

    def report(self) -> WorkerReport:
        return WorkerReport(
            self.name, WorkerRole.GPU, "here", 1, "1", 0, 0, queue="speech.fake", model=MODEL, live=self.address
        )

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[ScriptedWorker]:
        async with serve(self._attend, "127.0.0.1", 0, ping_interval=None, compression=None) as server:
            port = next(iter(server.sockets)).getsockname()[1]
            token = secrets.token_urlsafe()
            self.address = LiveAddress(f"ws://127.0.0.1:{port}", token, self.slots, self.slots, self.revision)
            try:
                yield self
            finally:
                self.kill()

    def kill(self) -> None:
        """As kill -9 does: every connection is gone."""
        for connection in self.connections:
            connection.transport.abort()

    def stop(self) -> None:
        """As SIGSTOP does: nothing is read and nothing said."""
        self.hangs.set()
        for connection in self.connections:
            connection.transport.pause_reading()

    async def _attend(self, connection: ServerConnection) -> None:
        assert self.address is not None
        assert connection.request is not None
        assert connection.request.headers["Authorization"] == f"Bearer {self.address.token}"
        self.connections.append(connection)
        hello = Hello(
            worker=self.name,
            model=MODEL,
            revision=self.revision,
            sample_rate_hz=SAMPLE_RATE_HZ,
            samples_per_frame=SAMPLES_PER_FRAME,
            num_codebooks=NUM_CODEBOOKS,
            live_slots=self.slots,
        )
        await self._say(connection, hello)
        async for message in connection:
            assert isinstance(message, bytes)
            received = decode_to_worker(message)
            await self._obey(connection, received.head)
        for task in self.speaking.values():
            task.cancel()

    async def _obey(self, connection: ServerConnection, head: ToWorker) -> None:
        match head:
            case Open():
                self.opened.append(head)
                await self._open(connection, head)
            case ExtendStream():
                if head.stream in self.texts:
                    self.texts[head.stream].put_nowait(head)
            case Consumed():
                self.consumed = head.num_samples
            case CancelStream():
                self.cancelled.append(head.stream)
                if (task := self.speaking.pop(head.stream, None)) is not None:
                    task.cancel()
                    await self._load(connection)

    async def _open(self, connection: ServerConnection, head: Open) -> None:
        if self.refusal is not None:
            await self._say(connection, self.refusal.model_copy(update={"stream": head.stream}))
        elif len(self.speaking) >= self.slots:
            refused = OpenRefused(stream=head.stream, code=FULL, detail="no place", retry_after_s=0.5)
            await self._say(connection, refused)
        else:
            await self._say(connection, Opened(stream=head.stream))
            self.texts[head.stream] = asyncio.Queue()
            self.speaking[head.stream] = asyncio.create_task(self._speak_until_gone(connection, head))
            await self._load(connection)

    async def _speak_until_gone(self, connection: ServerConnection, head: Open) -> None:
        with suppress(ConnectionClosed):
            await self._speak(connection, head)

    async def _speak(self, connection: ServerConnection, head: Open) -> None:
        text = head.order.text
        is_open = head.order.text_is_open
        while is_open:
            extension = await self.texts[head.stream].get()
            text, is_open = text + extension.text, not extension.is_last
        pcm, frames = fake_speech(text, head.order.narration.seed)
        begin = head.resume.num_samples_heard // SAMPLES_PER_FRAME if head.resume else 0
        await self._say(connection, SegmentBegins(stream=head.stream, index=0, text=text))
        for number in range(begin, len(frames)):
            await asyncio.sleep(self.frame_s)
            if number == self.fails_at:
                self.fails_at = None
                self.speaking.pop(head.stream, None)
                await self._say(connection, StreamFailed(stream=head.stream, code=self.failure, detail="as scripted"))
                return
            if number == self.stops_at:
                self.stop()
            samples = _s16le(pcm[number * SAMPLES_PER_FRAME : (number + 1) * SAMPLES_PER_FRAME])
            audio = Audio(stream=head.stream, segment=0, num_frames=1, num_samples=len(samples) // 2)
            await self._say(connection, audio, samples, frames[number].astype("<i2").tobytes())
        await self._say(connection, SegmentSpoken(stream=head.stream, segment=0))
        self.speaking.pop(head.stream, None)
        num_samples = (len(frames) - begin) * SAMPLES_PER_FRAME
        await self._say(connection, StreamDone(stream=head.stream, segments=1, num_samples=num_samples))
        await self._load(connection)

    async def _load(self, connection: ServerConnection) -> None:
        free = max(0, self.slots - len(self.speaking))
        await self._say(connection, LiveLoad(free=free, live_slots=self.slots, step_ms=1.0))

    async def _say(self, connection: ServerConnection, head: FromWorker, *payload: bytes) -> None:
        if self.hangs.is_set():
            # For ever, but for the end of the connection: a server waits for all who attend to one.
            await connection.wait_closed()
        await connection.send(encode_message(head, *payload))
