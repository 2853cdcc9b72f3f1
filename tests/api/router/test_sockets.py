"""A WebSocket through the router, to a server that says again what it hears."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http import HTTPStatus

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.client import connect
from websockets.sync.server import Server, ServerConnection, serve
from websockets.typing import Subprotocol

from rhapsode.contract.health import Readiness
from tests.api.router.running_cells import as_tenant, running_router
from tests.threads import join_in_time

READY = Readiness(status="ready", redis="ok", store="ok", threads="ok", models=(), claims="open")
PATH = "/v1/audio/speech/ws"
NARI = Subprotocol("nari.speech.v1")


@pytest.fixture(scope="module")
def echo() -> Iterator[tuple[Server, list[Request]]]:
    asked: list[Request] = []

    def answer(connection: ServerConnection, request: Request) -> Response | None:
        if request.path == "/readyz":
            return connection.respond(HTTPStatus.OK, READY.model_dump_json())
        asked.append(request)
        return None

    def say_again(connection: ServerConnection) -> None:
        for message in connection:
            if message == "end":
                connection.close(4001, "enough")
                return
            connection.send(message)

    with serve(say_again, "127.0.0.1", 0, subprotocols=[NARI], process_request=answer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server, asked
        server.shutdown()
        join_in_time(thread)


@pytest.fixture(scope="module")
def url(echo: tuple[Server, list[Request]]) -> Iterator[str]:
    port = echo[0].socket.getsockname()[1]
    with running_router(f"a=http://127.0.0.1:{port}", {}) as address:
        yield address.replace("http", "ws", 1)


def test_messages_of_both_kinds_pass_in_both_directions(url: str, echo: tuple[Server, list[Request]]) -> None:
    with connect(f"{url}{PATH}?a=b", subprotocols=[NARI], additional_headers=as_tenant("tenant-1")) as client:
        client.send("words")
        client.send(b"\x00\x01")
        heard = [client.recv(10), client.recv(10)]
        subprotocol = client.subprotocol

    assert heard == ["words", b"\x00\x01"]
    assert subprotocol == NARI
    request = echo[1][-1]
    assert request.path == f"{PATH}?a=b"
    assert request.headers["Authorization"] == as_tenant("tenant-1")["Authorization"]
    assert request.headers["X-Forwarded-For"] == "127.0.0.1"


def test_the_cells_reason_to_close_is_told(url: str) -> None:
    with connect(f"{url}{PATH}", subprotocols=[NARI], additional_headers=as_tenant("tenant-1")) as client:
        client.send("end")

        with pytest.raises(ConnectionClosed) as closed:
            client.recv(10)

    assert closed.value.rcvd is not None
    assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (4001, "enough")
