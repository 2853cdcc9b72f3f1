"""What all attempts have in common: where a name leads, in which time, and what an answer is."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import certifi
import httpx

from storage.runtime.egress.errors import Redirected
from storage.runtime.egress.url_rules import UrlRules

USER_AGENT = "rhapsode/0.1"

Resolver = Callable[[str, int], Sequence[str]]
"""Host and port to every address; raises OSError for a name that has none."""


def system_resolver(host: str, port: int) -> Sequence[str]:
    """The addresses that the system's resolver gives, IPv4 first: more receivers can be reached by it."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = dict.fromkeys(str(entry[4][0]) for entry in sorted(found, key=lambda entry: entry[0] != socket.AF_INET))
    return tuple(addresses)


def literal_addresses(host: str, port: int) -> Sequence[str] | None:
    """What the host stands for if it is an address in any spelling, or this machine; None for any other name."""
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return ("127.0.0.1",)
    try:
        found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except OSError:
        return None
    return tuple(str(entry[4][0]) for entry in found)


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
    body: bytes = field(repr=False)
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


def common_fields(url: httpx.URL) -> dict[str, str]:
    return {"Host": url.netloc.decode(), "User-Agent": USER_AGENT, "Accept-Encoding": "identity"}


def checked_headers(status: int, headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Raises `Redirected`: what a redirect names was never checked."""
    if 300 <= status < 400:
        raise Redirected(f"the server answered with a redirect ({status})")
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers}
