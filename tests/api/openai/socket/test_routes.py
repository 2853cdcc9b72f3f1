"""The handshake: who may open a socket, and what those are told who may not."""

from __future__ import annotations

import base64
import hashlib
import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

from api.settings import ApiSettings
from rhapsode.contract.speech_socket import NARI, SOCKET_PATH, STREAMING_TEXT, STREAMING_TEXT_PATH
from tests.api.harness import SMALL, ServedApi, serve
from tests.settings import PATIENT, api_settings_of

ANN = "key of ann, with / and ="
PAGE = "https://page.example"


@pytest.fixture
def guarded(api_settings: ApiSettings) -> Iterator[ServedApi]:
    keys = {hashlib.sha256(ANN.encode()).hexdigest(): "ann"}
    settings = api_settings_of(api_settings, api_keys=keys, cors_origins=PAGE, rate_limit="6/hour")
    with serve(settings, limits=replace(PATIENT, connections=8)) as api:
        api.models.publish(SMALL)
        yield api


def open_socket(
    api: ServedApi,
    *offered: str,
    path: str = SOCKET_PATH,
    origin: str | None = None,
    name: str = "localhost",
    **headers: str,
) -> ClientConnection:
    """name: by which the server is called."""
    port = int(api.url.rpartition(":")[2])
    subprotocols = [Subprotocol(each) for each in offered]
    return connect(
        f"ws://{name}:{port}{path}",
        address=("127.0.0.1", port),
        subprotocols=subprotocols or None,
        additional_headers=headers,
        origin=None if origin is None else Origin(origin),
        proxy=None,
        open_timeout=60,
        close_timeout=5,
    )


def refusal(
    api: ServedApi, *offered: str, origin: str | None = None, name: str = "localhost", **headers: str
) -> tuple[int, str]:
    with pytest.raises(InvalidStatus) as refused, open_socket(api, *offered, origin=origin, name=name, **headers):
        pass
    response = refused.value.response
    assert response.headers["X-Request-ID"].startswith("req_")
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    return response.status_code, json.loads(response.body or b"")["error"]["code"]


def coded(key: str) -> str:
    return "rhapsode.key." + base64.urlsafe_b64encode(key.encode()).decode().rstrip("=")


def event(client: ClientConnection) -> dict[str, Any]:
    message = client.recv(timeout=60)
    assert isinstance(message, str)
    return json.loads(message)


def test_a_key_opens_a_socket_in_the_header_or_among_the_subprotocols(guarded: ServedApi) -> None:
    bearer = {"Authorization": f"Bearer {ANN}"}
    for offered, headers in (((NARI,), bearer), ((NARI, coded(ANN)), {}), ((coded(ANN), NARI), {})):
        with open_socket(guarded, *offered, **headers) as client:
            assert client.subprotocol == NARI
            assert client.response is not None
            assert "Sec-WebSocket-Extensions" not in client.response.headers
            assert event(client)["audio"] == {"encoding": "pcm_s16le", "sample_rate": 24_000, "channels": 1}


def test_what_is_wrong_with_a_handshake_is_said_before_there_is_a_socket(guarded: ServedApi) -> None:
    bearer = {"Authorization": f"Bearer {ANN}"}

    assert refusal(guarded, NARI) == (401, "unauthorized")
    assert refusal(guarded, NARI, Authorization="Bearer wrong") == (401, "unauthorized")
    assert refusal(guarded, NARI, coded("wrong")) == (401, "unauthorized")
    assert refusal(guarded, NARI, "rhapsode.key.!") == (401, "unauthorized")
    assert refusal(guarded, "chat", **bearer) == (400, "invalid_request")
    assert refusal(guarded, NARI, origin="https://evil.example", **bearer) == (403, "forbidden")


def test_pages_of_origins_that_are_named_may_and_each_socket_counts_as_a_request(guarded: ServedApi) -> None:
    for _ in range(6):
        with open_socket(guarded, STREAMING_TEXT, coded(ANN), origin=PAGE) as client:
            assert client.subprotocol == STREAMING_TEXT

    assert refusal(guarded, NARI, coded(ANN)) == (429, "rate_limited")


def test_one_tenant_alone_does_not_take_every_place(guarded: ServedApi) -> None:
    with ExitStack() as held:
        for _ in range(4):
            held.enter_context(open_socket(guarded, NARI, coded(ANN)))

        assert refusal(guarded, NARI, coded(ANN)) == (503, "too_many_connections")


def test_without_keys_a_socket_is_this_machines_own(api: ServedApi) -> None:
    with open_socket(api, NARI) as client:
        assert event(client)["type"] == "session.created"

    assert refusal(api, NARI, origin="https://evil.example") == (403, "forbidden")
    assert refusal(api, NARI, name="tts.example.org") == (403, "forbidden")


def test_without_a_model_nobody_is_there_to_speak(api: ServedApi) -> None:
    api.redis.flushall()

    assert refusal(api, NARI) == (503, "model_not_available")


@pytest.mark.parametrize("path", [SOCKET_PATH, STREAMING_TEXT_PATH])
def test_the_first_message_says_which_protocol_it_is_where_none_was_offered(api: ServedApi, path: str) -> None:
    with open_socket(api, path=path) as client:
        client.send(json.dumps({"type": "request.start", "voice": "Nobody"}))
        assert [event(client)["type"] for _ in range(2)] == ["session.created", "error"]
    with open_socket(api, path=path) as client:
        client.send(json.dumps({"type": "session.config", "speed": 9}))
        assert event(client)["error"]["param"] == "speed"


@pytest.mark.parametrize("path", [SOCKET_PATH, STREAMING_TEXT_PATH])
def test_what_is_no_handshake_is_told_what_is_spoken_here(api: ServedApi, path: str) -> None:
    host, _, port = api.url.removeprefix("http://").partition(":")
    head = f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    for more in ("", "Sec-WebSocket-Version: 13\r\n", f"{key}Sec-WebSocket-Version: 7\r\n"):
        with socket.create_connection((host, int(port)), timeout=60) as connection:
            connection.sendall(f"{head}{more}Connection: close\r\n\r\n".encode())
            answer = b"".join(iter(lambda: connection.recv(65_536), b""))
        assert answer.startswith(b"HTTP/1.1 426 ")
        assert b"upgrade: websocket" in answer.lower()
        assert b"upgrade_required" in answer
