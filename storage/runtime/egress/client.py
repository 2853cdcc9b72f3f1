"""The client: one attempt a call, each of which ends in an answer or in one of the errors of `errors`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from storage.runtime.egress.connecting import HttpAccess, literal_addresses
from storage.runtime.egress.errors import ResponseEncoded, ResponseTooLarge, UnexpectedStatus
from storage.runtime.egress.kept import KeptHttp
from storage.runtime.egress.url_rules import origin_of, parsed_url, target_of

T = TypeVar("T")


class SafeHttp(HttpAccess):
    """Any thread without an event loop may call any method; nothing is kept between calls."""

    def check(self, url: str) -> None:
        """Whether a request would be made now; for registration. It is checked again at every request.

        Raises `UrlRefused`, `AddressBlocked`, `HostUnresolved` or `TimedOut`.
        """
        self._attempt(lambda http: http.check(url))

    def check_spelling(self, url: str) -> str:
        """As `check`, as far as can be said without asking a name server: for URLs that are named in passing.

        Returns its origin: scheme, host and port. Raises `UrlRefused` or `AddressBlocked`.
        """
        parsed = parsed_url(url, self.rules)
        host, port = target_of(parsed)
        if (literal := literal_addresses(host, port)) is not None:
            self.rules.require_reach(parsed, tuple(self.rules.addresses.check(address) for address in literal))
        return origin_of(parsed)

    def get(self, url: str, max_bytes: int) -> bytes:
        """The body of a 200. Raises `SafeHttpError`; `ResponseTooLarge` before more than `max_bytes` are held."""
        answer = self._attempt(lambda http: http.get(url, max_bytes))
        if answer.status != 200:
            raise UnexpectedStatus(answer.status)
        if answer.headers.get("content-encoding", "identity").lower() != "identity":
            raise ResponseEncoded("the server sent a compressed body")
        if not answer.is_whole:
            raise ResponseTooLarge(f"the server's answer is larger than {max_bytes} bytes")
        return answer.body

    def _attempt(self, ask: Callable[[KeptHttp], Awaitable[T]]) -> T:
        """In a new loop, which is asyncio's: the transports of others are no `asyncio.Transport`."""

        async def asked() -> T:
            http = KeptHttp(self.rules, self.times, self.resolver, self.tls)
            try:
                return await ask(http)
            finally:
                http.close()

        with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
            return runner.run(asked())
