"""URLs of a Redis that Sentinel watches: who is asked for its present address, and for which service. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

SCHEME = "redis+sentinel"
SENTINEL_PORT = 26379

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
    parts = urlsplit(url)
    credentials, _, hosts = parts.netloc.rpartition("@")
    username, _, password = credentials.partition(":")
    service, _, database = parts.path.strip("/").partition("/")
    if not service or not (database or "0").isdecimal():
        raise ValueError(f"a {SCHEME}:// URL ends with /SERVICE or /SERVICE/DATABASE, a number")
    options = dict(parse_qsl(parts.query))
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
    parts = urlsplit(url)
    service = parts.path.strip("/").partition("/")[0]
    return parts._replace(path=f"/{service}/{database}").geturl()


def _address(host: str) -> tuple[str, int]:
    """IPv6 in brackets."""
    parts = urlsplit(f"//{host}")
    if not parts.hostname:
        raise ValueError(f"a {SCHEME}:// URL names Sentinels as HOST:PORT, with commas between them")
    return parts.hostname, parts.port or SENTINEL_PORT
