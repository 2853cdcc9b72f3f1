"""Where a client reaches this API, by its own account: the Host header, else the address it connected to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from starlette.datastructures import URL
from starlette.requests import HTTPConnection

LONGEST_KEPT = 255
"""Of a Host header, as DNS has it. Clients choose them, so longer ones are parsed at every request."""

HIGHEST_PORT = 65_535

_PLAIN_HOST = re.compile(rb"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?")


@dataclass(frozen=True, slots=True)
class OwnAddress:
    """base: without a slash at its end. hostname: "" if there is none, or if the Host header is not a plain one."""

    base: str
    netloc: str
    hostname: str


def is_plain_host(value: bytes) -> bool:
    """Whether a Host header is a name or an address, with a port or without. Libraries read others in other ways."""
    match = _PLAIN_HOST.fullmatch(value)
    return match is not None and int(match[1] or 0) <= HIGHEST_PORT


def address_of(connection: HTTPConnection) -> OwnAddress:
    scope = connection.scope
    host = next((value for name, value in scope["headers"] if name == b"host"), None)
    server: tuple[str, int | None] | None = scope.get("server")
    root: str = scope.get("app_root_path", scope.get("root_path", ""))
    read = _kept if host is None or len(host) <= LONGEST_KEPT else _read
    return read(scope["scheme"], server, host, root)


def _read(scheme: str, server: tuple[str, int | None] | None, host: bytes | None, root: str) -> OwnAddress:
    path = root if root.endswith("/") else f"{root}/"
    headers = [] if host is None else [(b"host", host)]
    url = URL(scope={"scheme": scheme, "server": server, "headers": headers, "path": path})
    hostname = url.hostname or "" if host is None or is_plain_host(host) else ""
    return OwnAddress(str(url).rstrip("/"), url.netloc, hostname)


_kept = lru_cache(maxsize=256)(_read)
