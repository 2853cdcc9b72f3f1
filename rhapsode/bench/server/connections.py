"""How a server is asked: HTTP/1.1 by h11, and utterances over `nari.speech.v1`."""

from __future__ import annotations

import asyncio
import json
import re
import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

import h11
from pydantic import BaseModel, Field, JsonValue, ValidationError
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidHandshake, InvalidMessage, InvalidStatus, WebSocketException

from rhapsode.bench.server.listening import Ear, NotHeard, RequestRefused, Unreachable
from rhapsode.contract.speech_socket import NARI, SOCKET_PATH

_READ_BYTES = 1 << 16
_MOST_TEXT_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Origin:
    """path: before every path of the server's; "" mostly."""

    host: str
    port: int
    is_secure: bool
    path: str


def read_origin(url: str) -> Origin:
    """Raises ValueError for what is no http(s)://host[:port][/path]."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise ValueError(f"the server's URL is http(s)://host[:port], not {url!r}")
    is_secure = parts.scheme == "https"
    return Origin(parts.hostname, parts.port or (443 if is_secure else 80), is_secure, parts.path.rstrip("/"))


class HttpConnection:
    """`ask`, then `pieces` or `text` of the answer. All of them raise Unreachable where the connection breaks."""

    def __init__(self, origin: Origin, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._origin = origin
        self._reader = reader
        self._writer = writer
        self._protocol = h11.Connection(h11.CLIENT)

    async def ask(self, method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> AnswerHead:
        """Any answer; a status that is no success is one, too."""
        if self._protocol.our_state is h11.DONE:
            self._protocol.start_next_cycle()
        host = f"[{self._origin.host}]" if ":" in self._origin.host else self._origin.host
        fields = {"Host": f"{host}:{self._origin.port}", "Content-Length": str(len(body)), **headers}
        request = h11.Request(method=method, target=self._origin.path + path, headers=list(fields.items()))
        for event in (request, h11.Data(data=body), h11.EndOfMessage()):
            self._writer.write(self._protocol.send(event) or b"")
        while not isinstance(event := await self._event(), h11.Response):
            pass
        return AnswerHead(event.status_code, {name.decode(): value.decode("latin-1") for name, value in event.headers})

    async def pieces(self) -> AsyncGenerator[bytes]:
        """The body, as it comes."""
        while not isinstance(event := await self._event(), h11.EndOfMessage):
            if isinstance(event, h11.Data):
                yield bytes(event.data)

    async def text(self) -> bytes:
        """The body, a mebibyte of it at most."""
        whole = bytearray()
        async for piece in self.pieces():
            whole += piece
            if len(whole) > _MOST_TEXT_BYTES:
                raise NotHeard("the answer is longer than a text of that kind can be")
        return bytes(whole)

    async def refused(self, answer: AnswerHead) -> RequestRefused:
        """With the beginning of what the server says of it."""
        return RequestRefused(answer.status, (await self.text()).decode("utf-8", "replace"))

    async def _event(self) -> h11.Event | type[h11.PAUSED]:
        while True:
            try:
                event = self._protocol.next_event()
            except h11.RemoteProtocolError as error:
                raise Unreachable(f"the connection broke off: {error}") from error
            if isinstance(event, h11.ConnectionClosed):
                raise Unreachable("the connection was closed without an answer")
            if event is not h11.NEED_DATA:
                return event  # pyright: ignore[reportReturnType]
            try:
                data = await self._reader.read(_READ_BYTES)
            except OSError as error:
                raise Unreachable(f"the connection broke off: {error.strerror or error}") from error
            self._protocol.receive_data(data)


@dataclass(frozen=True, slots=True)
class AnswerHead:
    """headers: by their names in lower case."""

    status: int
    headers: Mapping[str, str]

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


@asynccontextmanager
async def connected(origin: Origin) -> AsyncGenerator[HttpConnection]:
    """Closed behind the block. Raises Unreachable."""
    context = ssl.create_default_context() if origin.is_secure else None
    try:
        reader, writer = await asyncio.open_connection(origin.host, origin.port, ssl=context)
    except OSError as error:  # an ssl.SSLError is one
        raise Unreachable(f"{origin.host}:{origin.port}: {error.strerror or error}") from error
    try:
        yield HttpConnection(origin, reader, writer)
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


WORD_EVERY_S = 0.01
_PIECE = re.compile(r"\A\s+|\S+\s*")


def pieces_of(text: str) -> list[str]:
    """Words with the white space behind them; together they are the text."""
    return _PIECE.findall(text)


async def speak_over_socket(
    url: str, headers: Mapping[str, str], start: Mapping[str, JsonValue], text: str, ear: Ear
) -> None:
    """url: of the server, http or https. Time begins with the first word. Raises a RequestFailed."""
    address = re.sub("^http", "ws", url) + SOCKET_PATH
    try:
        async with connect(
            address,
            subprotocols=[NARI],  # pyright: ignore[reportArgumentType] - a NewType of theirs
            additional_headers=dict(headers),
            compression=None,
            max_size=None,
            proxy=None,
        ) as connection:
            await _Utterance(connection, ear).speak(start, pieces_of(text))
    except InvalidStatus as refusal:
        raise RequestRefused(
            refusal.response.status_code, (refusal.response.body or b"").decode("utf-8", "replace")
        ) from refusal
    except (InvalidHandshake, InvalidMessage) as error:
        raise NotHeard(f"no WebSocket of {NARI}: {error}") from error
    except WebSocketException as error:
        raise Unreachable(f"the connection broke off: {error}") from error
    except OSError as error:
        raise Unreachable(error.strerror or str(error)) from error


class _Utterance:
    def __init__(self, connection: ClientConnection, ear: Ear) -> None:
        self._connection = connection
        self._ear = ear
        self._configured = asyncio.Event()
        self._acknowledged = asyncio.Semaphore(0)

    async def speak(self, start: Mapping[str, JsonValue], pieces: list[str]) -> None:
        await self._say({"type": "request.start", "response_format": "pcm", **start})
        writing = asyncio.create_task(self._write(pieces))
        try:
            await self._listen()
        finally:
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)  # the listener reports a broken connection

    async def _write(self, pieces: list[str]) -> None:
        await self._configured.wait()
        loop = asyncio.get_running_loop()
        self._ear.sent()
        began_s = loop.time()
        for sequence, piece in enumerate(pieces):
            await asyncio.sleep(began_s + sequence * WORD_EVERY_S - loop.time())
            await self._say({"type": "input_text.append", "sequence": sequence, "text": piece})
            await self._acknowledged.acquire()
        await self._say({"type": "input_text.end", "sequence": len(pieces)})

    async def _listen(self) -> None:
        async for message in self._connection:
            if isinstance(message, bytes):
                self._ear.hear(message)
            elif self._is_last(_read_event(message)):
                return
        raise Unreachable("the connection was closed before the end of the speech")

    def _is_last(self, event: _Event) -> bool:
        if event.audio is not None:
            self._ear.form(event.audio.sample_rate)
        match event.type:
            case "request.configured":
                self._configured.set()
            case "input_text.ack":
                self._acknowledged.release()
            case "error":
                raise RequestRefused(event.error.status, event.error.message)
            case _:
                pass  # other events
        return event.type == "response.done"

    async def _say(self, message: Mapping[str, JsonValue]) -> None:
        await self._connection.send(json.dumps(message))


class _Audio(BaseModel):
    encoding: Literal["pcm_s16le"]
    sample_rate: int = Field(gt=0)
    channels: Literal[1]


class _Error(BaseModel):
    status: int = 500
    message: str = ""


class _Event(BaseModel):
    """Of every type: what is looked at."""

    type: str
    audio: _Audio | None = None
    error: _Error = _Error()


def _read_event(message: str) -> _Event:
    try:
        return _Event.model_validate_json(message)
    except ValidationError as error:
        raise NotHeard(f"no event of {NARI}: {message[:80]}") from error
