"""An API process as far as a worker can tell, over the real socket."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections import defaultdict
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from websockets.asyncio.client import connect as connect_async
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from rhapsode.contract.jobs.narration import Narration
from storage.ids import TenantId
from storage.live.address import LiveAddress
from storage.live.messages import (
    MAX_MESSAGE_BYTES,
    Audio,
    CancelStream,
    Consumed,
    ExtendStream,
    FromWorker,
    Hello,
    LiveLoad,
    Open,
    OpenRefused,
    Resume,
    SegmentBegins,
    SegmentSpoken,
    StreamDone,
    StreamFailed,
    ToWorker,
    decode_from_worker,
    encode_message,
    split_audio,
)
from storage.live.orders import LiveOrder
from tests.storage.voices.voice_world import ALICE

PATIENCE_S = 60.0
TEXT = "The first sentence is here. And the second one follows it!\n\nA new paragraph, at last."


def an_order(text: object = TEXT, **changed: object) -> LiveOrder:
    spoken: dict[str, object] = {"model": "fake", "voice": "ada", "language": "english", "seed": 7}
    narration = spoken | {name: value for name, value in changed.items() if name in Narration.model_fields}
    rest = {name: value for name, value in changed.items() if name not in Narration.model_fields}
    return LiveOrder.model_validate({"tenant": ALICE, "narration": narration, "text": text, **rest}, strict=False)


@dataclass
class HeardStream:
    """What came of one stream. codes, samples: by segment."""

    samples: dict[int, bytes] = field(default_factory=lambda: defaultdict(bytes))
    codes: dict[int, bytes] = field(default_factory=lambda: defaultdict(bytes))
    texts: dict[int, str] = field(default_factory=dict)
    spoken: list[int] = field(default_factory=list)
    heads: list[FromWorker] = field(default_factory=list)
    end: StreamDone | StreamFailed | OpenRefused | None = None

    @property
    def all_samples(self) -> bytes:
        return b"".join(self.samples[index] for index in sorted(self.samples))

    @property
    def all_codes(self) -> bytes:
        return b"".join(self.codes[index] for index in sorted(self.codes))


class Caller:
    """One connection; streams are read by `until` and by name."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self.streams: dict[str, HeardStream] = defaultdict(HeardStream)
        self.loads: list[LiveLoad] = []
        hello = self._next(PATIENCE_S)
        assert isinstance(hello, Hello)
        self.hello = hello

    def say(self, head: ToWorker, *payload: bytes) -> None:
        self._socket.send(encode_message(head, *payload))

    def send_raw(self, message: str | bytes) -> None:
        self._socket.send(message)

    def open(self, name: str, order: LiveOrder, resume: Resume | None = None, codes: bytes = b"") -> None:
        self.say(Open(stream=name, order=order, resume=resume), codes)

    def extend(self, name: str, text: str, *, is_last: bool = False) -> None:
        self.say(ExtendStream(stream=name, text=text, is_last=is_last))

    def cancel(self, name: str) -> None:
        self.say(CancelStream(stream=name))

    def until(self, holds: Callable[[], bool], patience_s: float = PATIENCE_S) -> None:
        """Read on until this holds."""
        give_up_s = time.monotonic() + patience_s
        while not holds():
            left_s = give_up_s - time.monotonic()
            assert left_s > 0, "it never came"
            self._next(left_s)

    def hear(self, name: str) -> HeardStream:
        """To its end, like a listener who has taken all that came."""
        stream = self.streams[name]
        while stream.end is None:
            self._next(PATIENCE_S)
            with suppress(ConnectionClosed):
                # What was said before the goodbye is still to be read.
                self.say(Consumed(stream=name, num_samples=len(stream.all_samples) // 2))
        return stream

    def close(self) -> None:
        self._socket.close()

    def drop(self) -> None:
        """As a process that was killed: without goodbye."""
        self._socket.socket.close()

    @property
    def close_code(self) -> int | None:
        return self._socket.close_code

    def read_to_close(self) -> None:
        for message in self._socket:
            assert isinstance(message, bytes)

    def _next(self, timeout_s: float) -> FromWorker:
        message = self._socket.recv(timeout=timeout_s)
        assert isinstance(message, bytes)
        received = decode_from_worker(message)
        head = received.head
        if isinstance(head, LiveLoad):
            self.loads.append(head)
        elif not isinstance(head, Hello):
            self._take(self.streams[head.stream], head, received.payload)
        return head

    def _take(self, stream: HeardStream, head: FromWorker, payload: bytes) -> None:
        stream.heads.append(head)
        match head:
            case Audio():
                parts = split_audio(head, payload, self.hello.num_codebooks)
                stream.samples[head.segment] += parts.samples
                stream.codes[head.segment] += parts.codes
            case SegmentBegins():
                stream.texts[head.index] = head.text
            case SegmentSpoken():
                stream.spoken.append(head.segment)
            case StreamDone() | StreamFailed() | OpenRefused():
                stream.end = head
            case _:
                pass


@contextmanager
def calling(address: LiveAddress) -> Generator[Caller]:
    headers = {"Authorization": f"Bearer {address.token}"}
    with connect(
        address.url, additional_headers=headers, compression=None, max_size=MAX_MESSAGE_BYTES, open_timeout=PATIENCE_S
    ) as socket:
        yield Caller(socket)


async def last_by_tls(address: LiveAddress, tls: ssl.SSLContext, order: LiveOrder) -> FromWorker:
    """The last message of one stream, as an API process reads it.

    The client of `calling` reads and writes from two threads, which one TLS connection cannot always bear.
    """
    async with connect_async(
        address.url,
        additional_headers={"Authorization": f"Bearer {address.token}"},
        ssl=tls,
        server_hostname=address.server_name,
        compression=None,
        max_size=MAX_MESSAGE_BYTES,
        open_timeout=PATIENCE_S,
    ) as socket:
        await socket.send(encode_message(Open(stream="s", order=order)))
        async with asyncio.timeout(PATIENCE_S):
            while True:
                message = await socket.recv()
                assert isinstance(message, bytes)
                head = decode_from_worker(message).head
                if isinstance(head, StreamDone | StreamFailed | OpenRefused):
                    return head


OTHER = TenantId("other")
