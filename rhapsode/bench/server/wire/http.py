"""One HTTP/1.1 request over a connection of its own, by h11.

A client library with pools, redirects and decoders takes a millisecond of CPU for each request, and here it would be
measured along with the server. No proxy of the environment is used.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

import h11

from rhapsode.bench.server.wire.errors import NotHeard, Refused, Unreachable

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

    async def ask(self, method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> Answer:
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
        return Answer(event.status_code, {name.decode(): value.decode("latin-1") for name, value in event.headers})

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

    async def refused(self, answer: Answer) -> Refused:
        """With the beginning of what the server says of it."""
        return Refused(answer.status, (await self.text()).decode("utf-8", "replace"))

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
class Answer:
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
