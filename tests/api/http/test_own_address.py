"""Where a client reaches the API, by its Host header: as the framework reads it, if the header is a plain one."""

from __future__ import annotations

import pytest
from starlette.requests import Request

from api.http.own_address import LONGEST_KEPT, address_of

HOSTS = (
    b"localhost:8765",
    b"127.0.0.1",
    b"[::1]:8765",
    b"api.example.com",
    b"API.example.com:443",
    b"api.example.com:99999",
    b"user@elsewhere.example",
    b"a b",
    b"[::1",
    b"",
    b"\xff.example",
    b"a " * LONGEST_KEPT,
)
ODD = HOSTS[5:]
"""Libraries read them in different ways: they name no host."""


@pytest.mark.parametrize("host", [None, *HOSTS])
@pytest.mark.parametrize("server", [None, ("127.0.0.1", 80), ("::1", 8765)])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_it_is_what_the_framework_makes_of_the_request(
    host: bytes | None, server: tuple[str, int] | None, scheme: str
) -> None:
    headers = [(b"accept", b"*/*")] if host is None else [(b"accept", b"*/*"), (b"host", host), (b"host", b"second")]
    request = Request(
        {
            "type": "http",
            "method": "GET",
            "scheme": scheme,
            "server": server,
            "path": "/v1/jobs",
            "query_string": b"a=b",
            "headers": headers,
        }
    )

    for _ in range(2):
        address = address_of(request)

        assert address.base == str(request.base_url).rstrip("/")
        named = "" if host in ODD else request.url.hostname or ""
        assert (address.netloc, address.hostname) == (request.url.netloc, named)
