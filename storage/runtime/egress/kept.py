"""How a request is made, and the client that posts a lot to the same hosts over connections that it keeps.

Every attempt resolves the host's addresses again and checks all of them. A kept connection serves it only if it leads
to one of these, and only the party it was made for: what one tenant's receiver says never meets another's.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

import h11
import httpx

from storage.runtime.egress.connecting import (
    HttpAccess,
    HttpAnswer,
    checked_headers,
    common_fields,
    literal_addresses,
)
from storage.runtime.egress.errors import ConnectionFailed, HostUnresolved, TimedOut
from storage.runtime.egress.public_addresses import Address
from storage.runtime.egress.url_rules import UrlRules, parsed_url, target_of
from storage.runtime.egress.wire import RawAnswer, StaleConnection, Wire

IDLE_S = 4.0
"""How long a connection is kept for the next request: many servers close theirs after five seconds."""

MAX_KEPT = 1_024

_KNOWN_URLS = 4_096

Names: TypeAlias = "asyncio.Future[Sequence[str]]"


@dataclass(frozen=True, slots=True)
class PeerAddress:
    """party: whose connection it is."""

    party: str
    scheme: str
    host: str
    port: int


@dataclass
class KeptHttp(HttpAccess):
    """Of one event loop, whose coroutines alone may call it. `close` it at the end."""

    _kept: KeptWires = field(default_factory=lambda: KeptWires(), init=False)
    _questions: dict[tuple[str, int], Names] = field(default_factory=dict[tuple[str, int], Names], init=False)

    async def post(self, party: str, url: str, body: bytes, headers: Mapping[str, str], max_bytes: int) -> HttpAnswer:
        """The answer, whatever its status; of its body the first `max_bytes`. Raises `SafeHttpError`."""
        parsed = _known(url, self.rules)
        fields = {**common_fields(parsed), **headers, "Content-Length": str(len(body))}
        return await self._answer("POST", party, parsed, fields, body, max_bytes)

    async def get(self, url: str, max_bytes: int) -> HttpAnswer:
        """As `post`."""
        parsed = parsed_url(url, self.rules)
        return await self._answer("GET", "", parsed, common_fields(parsed), b"", max_bytes)

    async def check(self, url: str) -> None:
        """Raises `UrlRefused`, `AddressBlocked`, `HostUnresolved` or `TimedOut` if no request would be made now."""
        parsed = parsed_url(url, self.rules)
        try:
            async with asyncio.timeout(self.times.total_s):
                await self._addresses(parsed)
        except TimeoutError as error:
            raise TimedOut(f"the name server did not answer for {target_of(parsed)[0]}") from error

    def close(self) -> None:
        self._kept.close()

    async def _answer(
        self, method: str, party: str, url: httpx.URL, fields: Mapping[str, str], body: bytes, max_bytes: int
    ) -> HttpAnswer:
        host, port = target_of(url)
        request = h11.Request(method=method, target=url.raw_path, headers=list(fields.items()))
        try:
            async with asyncio.timeout(self.times.total_s):
                addresses = await self._addresses(url)
                place = PeerAddress(party, url.scheme, host, port)
                answer = await self._exchange(place, addresses, request, body, max_bytes)
        except TimeoutError as error:
            raise TimedOut(f"{host} did not answer in time") from error
        except (OSError, h11.RemoteProtocolError) as error:
            raise ConnectionFailed(f"no usable connection to {host}: {error}") from error
        headers = checked_headers(answer.status, answer.headers)
        return HttpAnswer(answer.status, headers, bytes(answer.body), answer.is_whole)

    async def _exchange(
        self, place: PeerAddress, addresses: Sequence[Address], request: h11.Request, body: bytes, max_bytes: int
    ) -> RawAnswer:
        while (wire := self._kept.take(place, addresses)) is not None:
            try:
                answer = await wire.ask(request, body, max_bytes)
            except StaleConnection:
                continue
            self._kept.keep(place, wire)
            return answer
        wire = await self._connected(place, addresses)
        answer = await wire.ask(request, body, max_bytes)
        self._kept.keep(place, wire)
        return answer

    async def _connected(self, place: PeerAddress, addresses: Sequence[Address]) -> Wire:
        """One address after the other."""
        failure: OSError | None = None
        for address in addresses:
            try:
                async with asyncio.timeout(self.times.connect_s):
                    stream = await _dialled(address, place.port)
            except OSError as error:  # a time-out is one, too
                failure = error
                continue
            return await self._wired(place, address, stream)
        raise failure or ConnectionError("no address")

    async def _wired(self, place: PeerAddress, address: Address, stream: socket.socket) -> Wire:
        """The whole attempt's time is there for TLS."""
        is_secure = place.scheme == "https"
        _, wire = await asyncio.get_running_loop().create_connection(
            lambda: Wire(address),
            sock=stream,
            ssl=self.tls if is_secure else None,
            server_hostname=place.host if is_secure else None,
            ssl_handshake_timeout=self.times.total_s if is_secure else None,
        )
        return wire

    async def _addresses(self, url: httpx.URL) -> tuple[Address, ...]:
        """All of the host's, each of them checked: one private address among public ones is a trap."""
        host, port = target_of(url)
        found = literal_addresses(host, port) or await self._resolved(host, port)
        if not found:
            raise HostUnresolved(f"{host} has no address")
        addresses = tuple(self.rules.addresses.check(address) for address in found)
        self.rules.require_reach(url, addresses)
        return addresses

    async def _resolved(self, host: str, port: int) -> Sequence[str]:
        """Attempts that begin while a host is asked for share the answer, which is younger than each of them."""
        question = self._questions.get((host, port))
        if question is None:
            question = self._questions[host, port] = self._asked(host, port)
        try:
            return await asyncio.shield(question)
        except (OSError, UnicodeError) as error:
            raise HostUnresolved(f"{host} cannot be resolved") from error

    def _asked(self, host: str, port: int) -> Names:
        """In a thread, because the system's resolver takes no time limit; a slow one is left behind."""
        loop = asyncio.get_running_loop()
        question: Names = loop.create_future()
        question.add_done_callback(lambda done: self._forget(host, port, done))

        def ask() -> None:
            try:
                found = self.resolver(host, port)
            except (OSError, UnicodeError) as error:
                failure = error
                _tell(loop, lambda: question.set_exception(failure))
            else:
                _tell(loop, lambda: question.set_result(found))

        threading.Thread(target=ask, name="resolver", daemon=True).start()
        return question

    def _forget(self, host: str, port: int, question: Names) -> None:
        del self._questions[host, port]
        if not question.cancelled():
            # Taken notice of, should no attempt wait for it any more.
            question.exception()


class KeptWires:
    """Connections between two requests, the freshest taken first."""

    def __init__(self) -> None:
        self._idle: dict[PeerAddress, list[Wire]] = {}
        self._num_idle = 0
        self._sweeping: asyncio.TimerHandle | None = None

    def take(self, place: PeerAddress, addresses: Sequence[Address]) -> Wire | None:
        """One that leads to one of these addresses; one that leads elsewhere is closed, since the name does not now."""
        idle = self._idle.get(place, [])
        while idle:
            wire = idle.pop()
            self._num_idle -= 1
            if wire.can_ask and wire.address in addresses:
                return wire
            wire.close()
        return None

    def keep(self, place: PeerAddress, wire: Wire) -> None:
        """For the next one; closed if it cannot be asked again or enough are kept."""
        if not wire.can_ask or self._num_idle >= MAX_KEPT:
            wire.close()
            return
        loop = asyncio.get_running_loop()
        wire.idle_since_s = loop.time()
        self._idle.setdefault(place, []).append(wire)
        self._num_idle += 1
        if self._sweeping is None:
            self._sweeping = loop.call_later(IDLE_S, self._sweep, loop)

    def close(self) -> None:
        if self._sweeping is not None:
            self._sweeping.cancel()
        for idle in self._idle.values():
            for wire in idle:
                wire.close()
        self._idle.clear()
        self._num_idle = 0

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        least_s = loop.time() - IDLE_S
        self._sweeping = None
        for place, idle in list(self._idle.items()):
            fresh = [wire for wire in idle if wire.can_ask and wire.idle_since_s > least_s]
            for wire in set(idle) - set(fresh):
                wire.close()
            self._num_idle -= len(idle) - len(fresh)
            if fresh:
                self._idle[place] = fresh
            else:
                del self._idle[place]
        if self._idle:
            self._sweeping = loop.call_later(IDLE_S / 4, self._sweep, loop)


@lru_cache(_KNOWN_URLS)
def _known(url: str, rules: UrlRules) -> httpx.URL:
    return parsed_url(url, rules)


async def _dialled(address: Address, port: int) -> socket.socket:
    stream = socket.socket(socket.AF_INET6 if address.version == 6 else socket.AF_INET, socket.SOCK_STREAM)
    stream.setblocking(False)  # noqa: FBT003 - the library's own
    try:
        await asyncio.get_running_loop().sock_connect(stream, (str(address), port))
    except BaseException:
        stream.close()
        raise
    return stream


def _tell(loop: asyncio.AbstractEventLoop, say: Callable[[], None]) -> None:
    try:
        loop.call_soon_threadsafe(say)
    except RuntimeError:
        # The loop was closed while a name server thought: there is no attempt left to tell.
        if not loop.is_closed():
            raise
