"""Connections that are encrypted only where it is asked for, and verified then."""

from __future__ import annotations

import asyncio
import http.server
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from rhapsode.client.aio.connections import open_pool as open_async_pool
from rhapsode.client.connection import Connection
from rhapsode.client.sync.connections import open_pool
from tests.rhapsode.conftest import ScriptedServer
from tests.security.tls_servers import Authority
from tests.threads import join_in_time


class _Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority.made_in(tmp_path / "authority")


@pytest.fixture
def url(authority: Authority) -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Answer)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.certificate, authority.key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        join_in_time(thread)
        server.server_close()


def test_a_server_whose_authority_is_known_is_spoken_to(
    url: str, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.ca))

    async def ask() -> int:
        async with open_async_pool(Connection(url)) as pool:
            return (await pool.get("/")).status_code

    with open_pool(Connection(url)) as pool:
        assert pool.get("/").status_code == 200
    assert asyncio.run(ask()) == 200


def test_a_server_that_nobody_vouches_for_is_not(url: str) -> None:
    async def ask() -> None:
        async with open_async_pool(Connection(url)) as pool:
            await pool.get("/")

    with open_pool(Connection(url)) as pool, pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        pool.get("/")
    with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        asyncio.run(ask())


def test_a_redirect_to_it_is_not_either(url: str, script: ScriptedServer) -> None:
    script.answer(307, {}, {"Location": url})

    with (
        open_pool(Connection(script.url)) as pool,
        pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"),
    ):
        pool.get("/")


def test_a_server_of_this_machine_costs_no_certificates(
    script: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load() -> ssl.SSLContext:
        raise AssertionError("certificates are loaded")

    monkeypatch.setattr(httpx, "create_ssl_context", load)
    script.answer(200, {"status": "ok"})

    with open_pool(Connection(script.url)) as pool:
        assert pool.get("/livez").status_code == 200
