"""The client: one attempt a call, each of which ends in an answer or in one of the errors of `errors`."""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import certifi
import httpcore
import httpx

from storage.runtime.egress.connecting import (
    CheckedDialler,
    Deadline,
    Resolver,
    literal_addresses,
    resolve,
    system_resolver,
)
from storage.runtime.egress.errors import (
    ConnectionFailed,
    Redirected,
    ResponseEncoded,
    ResponseTooLarge,
    TimedOut,
    UnexpectedStatus,
)
from storage.runtime.egress.public_addresses import Address
from storage.runtime.egress.url_rules import UrlRules, origin_of, parsed_url, target_of

USER_AGENT = "rhapsode/0.1"


@dataclass(frozen=True, slots=True)
class AttemptTimes:
    """Of one attempt: `total_s` covers name server, connection, TLS, request and the whole answer."""

    connect_s: float = 3.0
    total_s: float = 15.0


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """`body`: at most what was asked for. Header names are lower-case; of repeated ones the last counts."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    is_whole: bool


def public_authorities() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=certifi.where())


@dataclass
class HttpAccess:
    """What may be asked, in which time, and by which name server and authorities."""

    rules: UrlRules = field(default_factory=UrlRules)
    times: AttemptTimes = field(default_factory=AttemptTimes)
    resolver: Resolver = system_resolver
    tls: ssl.SSLContext = field(default_factory=public_authorities)


class SafeHttp(HttpAccess):
    """Any thread may call any method; nothing is kept between calls."""

    def check(self, url: str) -> None:
        """Whether a request would be made now; for registration. It is checked again at every request.

        Raises `UrlRefused`, `AddressBlocked`, `HostUnresolved` or `TimedOut`.
        """
        self._addresses(parsed_url(url, self.rules), Deadline(self.times.total_s))

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
        answer = self._attempt(url, max_bytes)
        if answer.status != 200:
            raise UnexpectedStatus(answer.status)
        if answer.headers.get("content-encoding", "identity").lower() != "identity":
            raise ResponseEncoded("the server sent a compressed body")
        if not answer.is_whole:
            raise ResponseTooLarge(f"the server's answer is larger than {max_bytes} bytes")
        return answer.body

    def _attempt(self, url: str, max_bytes: int) -> HttpAnswer:
        deadline = Deadline(self.times.total_s)
        parsed = parsed_url(url, self.rules)
        host = target_of(parsed)[0]
        dialler = CheckedDialler(self._addresses(parsed, deadline), self.times.connect_s, deadline)
        try:
            with (
                httpcore.ConnectionPool(ssl_context=self.tls, network_backend=dialler, max_connections=1) as pool,
                pool.stream("GET", _wire_url(parsed), headers=list(common_fields(parsed).items())) as response,
            ):
                headers = checked_headers(response.status, response.headers)
                body, is_whole = _read(response.iter_stream(), max_bytes)
                return HttpAnswer(response.status, headers, body, is_whole)
        except httpcore.TimeoutException as error:
            raise TimedOut(f"{host} did not answer in time") from error
        except (httpcore.NetworkError, httpcore.ProtocolError, ssl.SSLError) as error:
            raise ConnectionFailed(f"no usable connection to {host}: {error}") from error

    def _addresses(self, url: httpx.URL, deadline: Deadline) -> tuple[Address, ...]:
        """All of the host's, each of them checked."""
        host, port = target_of(url)
        addresses = resolve(host, port, self.resolver, self.rules.addresses, deadline)
        self.rules.require_reach(url, addresses)
        return addresses


def _wire_url(url: httpx.URL) -> httpcore.URL:
    return httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)


def common_fields(url: httpx.URL) -> dict[str, str]:
    return {"Host": url.netloc.decode(), "User-Agent": USER_AGENT, "Accept-Encoding": "identity"}


def checked_headers(status: int, headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Raises `Redirected`: what a redirect names was never checked."""
    if 300 <= status < 400:
        raise Redirected(f"the server answered with a redirect ({status})")
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers}


def _read(chunks: Iterable[bytes], max_bytes: int) -> tuple[bytes, bool]:
    """The first `max_bytes`, and whether that is all."""
    body = bytearray()
    for chunk in chunks:
        body += chunk[: max_bytes + 1 - len(body)]
        if len(body) > max_bytes:
            return bytes(body[:max_bytes]), False
    return bytes(body), True
