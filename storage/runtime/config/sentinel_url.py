"""URLs of a Redis that Sentinel watches: who is asked for its present address, and for which service. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote

SCHEME = "redis+sentinel"
SENTINEL_PORT = 26379

_ADDRESS = re.compile(r"(?:\[(?P<v6>[0-9a-fA-F:.%\w]+)\]|(?P<name>[^\s\[\]:]+))(?::(?P<port>[0-9]{1,5})?)?", re.ASCII)

_OPTIONS = frozenset({"sentinel_username", "sentinel_password"})


@dataclass(frozen=True, slots=True)
class SentinelUrl:
    """redis+sentinel://[[USER]:PASSWORD@]HOST[:PORT],HOST[:PORT]/SERVICE[/DATABASE][?sentinel_username=&sentinel_password=]

    username, password: of the servers; the other two: of the Sentinels.
    """

    sentinels: tuple[tuple[str, int], ...]
    service: str
    database: int = 0
    username: str | None = None
    password: str | None = None
    sentinel_username: str | None = None
    sentinel_password: str | None = None


def is_sentinel_url(url: str) -> bool:
    return url.startswith(f"{SCHEME}:")


def parse_sentinel_url(url: str) -> SentinelUrl:
    """Raises `ValueError`, without the URL in it."""
    place, _, query = url.partition("#")[0].partition("?")
    netloc, path = _place(place)
    credentials, _, hosts = netloc.rpartition("@")
    username, _, password = credentials.partition(":")
    service, _, database = path.strip("/").partition("/")
    if not service or not (database or "0").isdecimal():
        raise ValueError(f"a {SCHEME}:// URL ends with /SERVICE or /SERVICE/DATABASE, a number")
    options = dict(parse_qsl(query))
    if unknown := options.keys() - _OPTIONS:
        raise ValueError(f"a {SCHEME}:// URL takes {' and '.join(sorted(_OPTIONS))}, not {sorted(unknown)[0][:40]!r}")
    return SentinelUrl(
        sentinels=tuple(_address(host) for host in hosts.split(",")),
        service=unquote(service),
        database=int(database or "0"),
        username=unquote(username) or None,
        password=unquote(password) or None,
        sentinel_username=options.get("sentinel_username"),
        sentinel_password=options.get("sentinel_password"),
    )


def sentinel_url_with(url: str, database: int) -> str:
    """The same service, another database."""
    place, mark, query = url.partition("#")[0].partition("?")
    netloc, path = _place(place)
    service = path.strip("/").partition("/")[0]
    return f"{SCHEME}://{netloc}/{service}/{database}{mark}{query}"


def _place(url: str) -> tuple[str, str]:
    """Credentials with hosts, and the path. Newer releases of Python refuse to split a URL of several hosts."""
    netloc, _, path = url.removeprefix(f"{SCHEME}:").removeprefix("//").partition("/")
    return netloc, path


def _address(host: str) -> tuple[str, int]:
    """IPv6 in brackets. Raises `ValueError`."""
    found = _ADDRESS.fullmatch(host)
    port = int(found["port"] or SENTINEL_PORT) if found else 0
    if not found or not 0 < port < 65_536:
        raise ValueError(f"a {SCHEME}:// URL names Sentinels as HOST:PORT, with commas between them")
    return (found["v6"] or found["name"]).lower(), port
