"""Which URLs are opened at all, as they are spelled and where they lead. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import httpx

from rhapsode.contract.jobs.webhook import MAX_URL_CHARS
from storage.runtime.egress.errors import UrlRefused
from storage.runtime.egress.public_addresses import Address, AddressRules

MAX_HOST_CHARS = 253
MAX_PORT = 65_535

_HOST = re.compile(rb"[A-Za-z0-9._:-]+")
"""A name or an address. The parser takes more, such as `https://[`, which other parsers refuse."""

_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class UrlRules:
    """What may be named at all. In networks of one's own (`public_addresses.allowed`) plain http and any port do."""

    schemes: frozenset[str] = frozenset({"https"})
    ports: frozenset[int] = frozenset({443, 8443})
    addresses: AddressRules = field(default_factory=AddressRules)

    @property
    def named_schemes(self) -> frozenset[str]:
        """What a URL may begin with before it is known where it leads."""
        return self.schemes | {"http", "https"} if self.addresses.allowed else self.schemes

    def require_reach(self, url: httpx.URL, addresses: Sequence[Address]) -> None:
        """Raises `UrlRefused` for what is good enough for one's own network only."""
        port = target_of(url)[1]
        if (url.scheme in self.schemes and port in self.ports) or all(map(self.addresses.is_allowed, addresses)):
            return
        if url.scheme not in self.schemes:
            raise UrlRefused(f"a URL begins with {' or '.join(sorted(self.schemes))}, not {url.scheme!r}")
        raise UrlRefused(f"port {port} is not allowed; {sorted(self.ports)} are")


def parsed_url(url: str, rules: UrlRules) -> httpx.URL:
    """Raises `UrlRefused`."""
    if len(url) > MAX_URL_CHARS:
        raise UrlRefused(f"the URL has {len(url)} characters; {MAX_URL_CHARS} are taken")
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise UrlRefused(f"not a URL: {error}") from error
    if parsed.scheme not in rules.named_schemes:
        raise UrlRefused(f"a URL begins with {' or '.join(sorted(rules.named_schemes))}, not {parsed.scheme[:20]!r}")
    if parsed.userinfo:
        raise UrlRefused("a URL must not hold a user name or password")
    if not 1 <= len(parsed.raw_host) <= MAX_HOST_CHARS:
        raise UrlRefused("the URL names no host")
    if _HOST.fullmatch(parsed.raw_host) is None:
        raise UrlRefused("the URL names a host that no host can be called")
    port = target_of(parsed)[1]
    if not 1 <= port <= MAX_PORT:
        raise UrlRefused(f"the URL's port is outside 1 to {MAX_PORT}")
    if port not in rules.ports and not rules.addresses.allowed:
        raise UrlRefused(f"port {port} is not allowed; {sorted(rules.ports)} are")
    return parsed


def target_of(url: httpx.URL) -> tuple[str, int]:
    port = _DEFAULT_PORTS[url.scheme] if url.port is None else url.port
    return url.raw_host.decode("ascii"), port


def origin_of(url: httpx.URL) -> str:
    """The same for all URLs of one scheme, host and port, however they are spelled."""
    host, port = target_of(url)
    return f"{url.scheme}://{host}:{port}"
