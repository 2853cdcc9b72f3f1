"""Connections as no client library makes them: broken framing, slow senders, too many. Raw sockets, no library."""

from __future__ import annotations

import asyncio
import json
import random
import re
import select
import socket
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise
from urllib.parse import urlsplit

import pytest
import uvicorn
from pydantic import SecretStr
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from api.http.middleware.connections import CHUNKED_BYTES, CHUNKS_AT_ONCE, ConnectionLimits, HttpProtocol
from api.http.middleware.framing import MOST_SMALL_CHUNKS
from api.settings import ApiSettings
from tests.api.harness import ServedApi, serve
from tests.settings import PATIENT
from tests.threads import BoundedExecutor

PATIENCE_S = 60.0


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApi]:
    """An API that waits a second for what a client has begun."""
    with serve(storeless(tmp_path_factory), limits=replace(PATIENT, request_timeout_s=1.0)) as served:
        yield served


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApi]:
    """For whatever is whole when it comes: no machine is too slow to be answered."""
    with serve(storeless(tmp_path_factory)) as served:
        yield served


def storeless(tmp_path_factory: pytest.TempPathFactory) -> ApiSettings:
    """What is tested here comes before any store."""
    return ApiSettings(
        redis_url=SecretStr("redis://127.0.0.1:1/0"),
        broker_url=SecretStr("redis://127.0.0.1:1/1"),
        store=f"file://{tmp_path_factory.mktemp('store')}",
        url_secret=SecretStr("a-secret-for-tests-only"),
    )


def connect(api: ServedApi) -> socket.socket:
    place = urlsplit(api.url)
    return socket.create_connection((place.hostname or "", place.port or 0), timeout=PATIENCE_S)


def exchange(api: ServedApi, *pieces: bytes) -> bytes:
    """All that comes until the server closes. It has to close: otherwise this times out."""
    with connect(api) as connection:
        for piece in pieces:
            connection.sendall(piece)
        return rest(connection)


def rest(connection: socket.socket) -> bytes:
    received = b""
    try:
        while data := connection.recv(65536):
            received += data
    except ConnectionResetError:
        pass
    return received


def problem(answer: bytes) -> tuple[int, str]:
    """Status and code of an answer that is a whole problem document."""
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"application/problem+json" in head.lower(), answer
    length = re.search(rb"(?i)content-length: (\d+)", head)
    assert length is not None, answer
    assert int(length[1]) == len(body)
    document = json.loads(body)
    assert document["request_id"].encode() in head
    assert document["status"] == int(head.split()[1])
    return document["status"], document["code"]


HOST = b"Host: localhost\r\n"

BROKEN = {
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 50 + b"\r\n\r\n",
    "no host": b"GET /livez HTTP/1.1\r\n\r\n",
    "two hosts": b"GET /livez HTTP/1.1\r\n" + HOST + HOST + b"\r\n",
    "header without colon": b"GET /livez HTTP/1.1\r\n" + HOST + b"nonsense\r\n\r\n",
    "space before colon": b"GET /livez HTTP/1.1\r\n" + HOST + b"A : b\r\n\r\n",
    "null in header": b"GET /livez HTTP/1.1\r\n" + HOST + b"A: b\x00c\r\n\r\n",
    "control character in target": b"GET /live\x01z HTTP/1.1\r\n" + HOST + b"\r\n",
    "length that is none": b"POST /v1/jobs HTTP/1.1\r\n" + HOST + b"Content-Length: -5\r\n\r\n",
    "two lengths": b"POST /v1/jobs HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
    "unknown coding": b"POST /v1/jobs HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: gzip\r\n\r\nabc",
    "broken chunk": b"POST /v1/jobs HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n",
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_http_is_answered_with_a_problem_and_closed(patient: ServedApi, name: str) -> None:
    assert problem(exchange(patient, BROKEN[name])) == (400, "invalid_request")


CHUNKED = b"Transfer-Encoding: chunked\r\n"
SMUGGLED = b"GET /openapi.json HTTP/1.1\r\n" + HOST + b"\r\n"
NO_BODY = b"0\r\n\r\n"

TWO_ENDS = {
    "length first": (b"Content-Length: 5\r\n" + CHUNKED, NO_BODY),
    "chunks first": (CHUNKED + b"Content-Length: 5\r\n", NO_BODY),
    "both agree": (b"Content-Length: 0\r\n" + CHUNKED, NO_BODY),
    "a length that is none": (CHUNKED + b"Content-Length: 5, 6\r\n", NO_BODY),
    "two lengths": (b"Content-Length: 0\r\nContent-Length: 5\r\n", b""),
    "two lengths on a line": (b"Content-Length: 0, 5\r\n", b""),
    "a signed length": (b"Content-Length: +0\r\n", b""),
    "a length in hex": (b"Content-Length: 0x0\r\n", b""),
    "a length folded": (b"Content-Length: 0\r\n 5\r\n", b""),
    "chunks folded into a length": (b"Content-Length: 0\r\n\tTransfer-Encoding: chunked\r\n", NO_BODY),
    "chunks folded, and a length": (b"Transfer-Encoding:\r\n chunked\r\nContent-Length: 5\r\n", NO_BODY),
    "chunked twice": (CHUNKED + CHUNKED, NO_BODY),
    "chunked twice on a line": (b"Transfer-Encoding: chunked, chunked\r\n", NO_BODY),
    "chunked and not": (b"Transfer-Encoding: chunked, identity\r\n", NO_BODY),
    "not and chunked": (b"Transfer-Encoding: identity\r\n" + CHUNKED, NO_BODY),
    "chunked almost": (b"Transfer-Encoding: xchunked\r\nContent-Length: 5\r\n", NO_BODY),
    "chunked in quotes": (b'Transfer-Encoding: "chunked"\r\n', NO_BODY),
    "chunked in capitals, and a length": (b"TRANSFER-ENCODING: CHUNKED\r\ncontent-length: 5\r\n", NO_BODY),
    "a space before the colon": (b"Transfer-Encoding : chunked\r\nContent-Length: 5\r\n", NO_BODY),
    "a tab behind the length": (b"Content-Length:\t0\x0b5\r\n", b""),
}


@pytest.mark.parametrize("method", [b"POST", b"GET"])
@pytest.mark.parametrize("name", TWO_ENDS)
def test_a_request_that_ends_in_two_places_is_refused_and_nothing_behind_it_is_served(
    patient: ServedApi, method: bytes, name: str
) -> None:
    fields, body = TWO_ENDS[name]
    request = (
        method + b" /v1/jobs HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n" + fields + b"\r\n" + body
    )

    # In one piece, and in two: the second when the first may have been answered.
    at_once, in_turn = exchange(patient, request + SMUGGLED), exchange(patient, request, SMUGGLED)

    for answer in (at_once, in_turn):
        assert problem(answer) == (400, "invalid_request")
        assert b"connection: close" in answer.lower()
        assert answer.count(b"HTTP/1.1 ") == 1


def test_nothing_is_served_behind_two_ends_that_follow_a_good_request(patient: ServedApi) -> None:
    good = b"GET /livez HTTP/1.1\r\n" + HOST + b"\r\n"
    two_ends = b"HEAD /livez HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\n" + CHUNKED + b"\r\n" + NO_BODY

    answer = exchange(patient, good + two_ends + SMUGGLED)

    assert re.findall(rb"HTTP/1.1 (\d+)", answer) == [b"200", b"400"]
    # A HEAD is answered without a body.
    assert answer.endswith(b"\r\n\r\n")


def test_chunks_in_an_old_request_are_refused(patient: ServedApi) -> None:
    old = b"POST /v1/jobs HTTP/1.0\r\n" + HOST + b"Connection: keep-alive\r\n" + CHUNKED + b"\r\n" + NO_BODY

    answer = exchange(patient, old + SMUGGLED)

    assert problem(answer) == (400, "invalid_request")


def test_a_length_that_is_said_twice_alike_is_one(patient: ServedApi) -> None:
    once = b"GET /livez HTTP/1.1\r\n" + HOST + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}"

    answer = exchange(patient, once + b"GET /livez HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")

    assert answer.count(b"HTTP/1.1 200") == 2


@pytest.mark.parametrize("is_whole", [True, False])
def test_a_head_beyond_the_limit_is_refused(patient: ServedApi, is_whole: bool) -> None:
    head = b"GET /livez HTTP/1.1\r\n" + HOST + b"A: " + b"b" * 40_000

    answer = exchange(patient, head + (b"\r\n\r\n" if is_whole else b""))

    assert problem(answer) == (431, "headers_too_large")


@pytest.mark.parametrize("piece", [b"GET /livez HTTP/1.1\r\nHost:", b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX"])
def test_a_head_that_is_never_finished_ends_in_time(hasty: ServedApi, piece: bytes) -> None:
    with connect(hasty) as connection:
        connection.sendall(piece)
        # A byte now and then buys no time.
        while not select.select([connection], [], [], 0.05)[0]:
            connection.sendall(b"a")
        answer = rest(connection)

    assert problem(answer) == (408, "request_timeout")


@pytest.mark.parametrize("framing", [b"Content-Length: 100000\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n"])
def test_a_body_that_trickles_ends_in_time(hasty: ServedApi, framing: bytes) -> None:
    head = b"PUT /v1/objects/uploads/x HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n" + framing

    with connect(hasty) as connection:
        connection.sendall(head + b"1\r\na\r\n")
        answer = rest(connection)

    # It may be refused before its body is read; what matters is that it does not stay.
    assert answer.startswith(b"HTTP/1.1 4")


def test_a_slow_body_of_a_route_that_reads_it_is_told_so(hasty: ServedApi) -> None:
    head = b"POST /v1/jobs HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\nContent-Length: 90\r\n\r\n{"

    assert problem(exchange(hasty, head)) == (408, "request_timeout")


def test_a_connection_without_a_request_is_closed_in_silence(hasty: ServedApi) -> None:
    assert exchange(hasty) == b""


def test_a_body_that_goes_on_behind_its_answer_is_not_read_for_ever(patient: ServedApi) -> None:
    head = b"POST /nowhere HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"

    answer = exchange(patient, head, b"1000\r\n" + b"a" * 4096 + b"\r\n")

    assert answer.startswith(b"HTTP/1.1 404")


def test_requests_in_a_row_on_one_connection_are_all_answered(patient: ServedApi) -> None:
    once = b"GET /livez HTTP/1.1\r\n" + HOST

    answer = exchange(patient, once + b"\r\n" + once + b"\r\n" + once + b"Connection: close\r\n\r\n")

    assert answer.count(b"HTTP/1.1 200") == 3


def test_a_wish_for_another_protocol_is_overlooked(patient: ServedApi) -> None:
    wish = b"GET /livez HTTP/1.1\r\n" + HOST + b"Upgrade: websocket\r\nConnection: upgrade, close\r\n\r\n"

    assert exchange(patient, wish).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("target", [b"http://localhost/livez", b"*", b"localhost:80", b"//x", b"/%ff%00", b"/v1?\\"])
def test_a_target_of_any_form_is_answered(patient: ServedApi, target: bytes) -> None:
    for method in (b"GET", b"OPTIONS", b"CONNECT", b"TRACE"):
        answer = exchange(patient, method + b" " + target + b" HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")
        assert problem(answer)[0] in (404, 405)


def test_connections_beyond_the_limit_are_told_to_come_again(tmp_path_factory: pytest.TempPathFactory) -> None:
    limits = replace(PATIENT, connections=2)
    with serve(storeless(tmp_path_factory), limits=limits) as api, connect(api), connect(api):
        answer = exchange(api, b"GET /livez HTTP/1.1\r\n" + HOST + b"\r\n")

    assert problem(answer) == (503, "too_many_connections")
    assert b"retry-after: 2" in answer.lower()


def test_no_nonsense_is_a_fault_of_ours(hasty: ServedApi) -> None:
    draw = random.Random(7)
    requests = [_spoiled(draw) for _ in range(150)]

    def send(request: bytes) -> bytes:
        return exchange(hasty, request, b"\r\n\r\n\r\n")

    with BoundedExecutor(16) as senders:
        answers = list(senders.map(send, requests))

    # Empty: what came was too little to answer. 503: there are no stores behind this API.
    wrong = [answer for answer in answers if answer and not re.match(rb"HTTP/1.1 ([24]\d\d|503) ", answer)]
    assert wrong == []


def _spoiled(draw: random.Random) -> bytes:
    """A request with some of its bytes made others."""
    whole = bytearray(
        b"POST /v1/jobs?a=b HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
        b"Idempotency-Key: abc\r\nAuthorization: Bearer x\r\nPrefer: wait=1\r\nContent-Length: 2\r\n\r\n{}"
    )
    for _ in range(draw.randint(1, 4)):
        whole[draw.randrange(len(whole))] = draw.randrange(256)
    return bytes(whole)


def test_a_client_that_takes_none_of_its_answers_is_let_go() -> None:
    """More answers than the buffers of both ends hold, to somebody who reads not a byte."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(200):
            await send({"type": "http.response.body", "body": bytes(1 << 20), "more_body": True})

    async def broken_off_after() -> float:
        config = uvicorn.Config(answer, lifespan="off", log_level="critical")
        limits = ConnectionLimits(max_connections=8, request_timeout_s=5, unread_answer_s=0.3)
        loop, state = asyncio.get_running_loop(), ServerState()
        server = await loop.create_server(lambda: HttpProtocol(config, state, {}, limits=limits), "127.0.0.1", 0)
        began = loop.time()
        with socket.create_connection(server.sockets[0].getsockname(), timeout=PATIENCE_S) as client:
            client.sendall(b"GET / HTTP/1.1\r\n" + HOST + b"\r\n")
            while not state.connections:
                await asyncio.sleep(0.01)
            while state.connections and loop.time() - began < PATIENCE_S:
                await asyncio.sleep(0.01)
            server.close()
        return loop.time() - began

    assert asyncio.run(broken_off_after()) < PATIENCE_S


FIELDS = (
    *("Accept", "Authorization", "Content-Encoding", "Content-Type", "Expect", "Idempotency-Key", "If-None-Match"),
    *("Last-Event-ID", "Origin", "Prefer", "Range", "Transfer-Encoding", "X-Forwarded-For", "X-Request-ID"),
    *("traceparent", "Content-Length", "Cookie", "Te", "Upgrade", "Connection"),
)
PLACES = (
    *("/v1/jobs", "/v1/voices", "/v1/audio/speech", "/v1/batches", "/v1/uploads", "/v1/webhook-endpoints"),
    *("/v1/jobs/job_01m805mah816c6r392z6tj0cvb", "/v1/jobs/x/segments/y/takes/z/select", "/v1/objects/a/../b?x=%00"),
    *("/v1/pronunciation-dictionaries?name=%ff", "/v1/audio/voices", "/v1/voice-caches", "/", "/readyz"),
)
BODIES = (b"", b"{}", b"[[[[", b"null", b'{"input": {"text": "\\ud800"}}', b"\xff\xfe{", b'{"a":1e999}', b"--x\r\n\r\n")


def test_no_header_and_no_body_is_a_fault_of_ours(api: ServedApi) -> None:
    """Real stores behind it, so that there is no 503 either."""
    draw = random.Random(11)
    requests = [_odd(draw) for _ in range(250)]

    with BoundedExecutor(8) as senders:
        answers = list(senders.map(partial(_first_answer, api), requests))

    wrong = [
        (request, answer[:200])
        for request, answer in zip(requests, answers, strict=True)
        if answer and not re.match(rb"HTTP/1.1 [1234]\d\d ", answer)
    ]
    assert wrong == []


def _odd(draw: random.Random) -> bytes:
    """A request with odd values in fields that mean something."""
    body = draw.choice(BODIES)
    lines = [
        f"{draw.choice(('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'))} {draw.choice(PLACES)} HTTP/1.1".encode()
    ]
    lines += [b"Host: localhost", b"Connection: close", b"Content-Length: " + str(len(body)).encode()]
    for name in draw.sample(FIELDS, draw.randint(1, 4)):
        value = bytes(draw.choice((9, 32, *range(33, 127), *range(128, 256))) for _ in range(draw.randint(0, 40)))
        known = (b"application/json", b"multipart/form-data; boundary=x", b"bytes=9-1", b"wait=99999999999", b"*/*;q=x")
        lines.append(name.encode() + b": " + draw.choice((value, *known)))
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def _first_answer(api: ServedApi, request: bytes) -> bytes:
    """The beginning of the answer. A request that is not whole is broken off, as its sender would."""
    with connect(api) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        try:
            return connection.recv(4096)
        except ConnectionResetError:
            return b""


def test_a_body_of_many_small_chunks_comes_whole_and_leaves_turns_to_others() -> None:
    """Between two turns of the event loop no more chunks are looked at than may come at once, and one piece more."""
    number, chunk = 5_000, b"28\r\n" + b"a" * 40 + b"\r\n"
    seen: list[int] = []

    async def count(scope: Scope, receive: Receive, send: Send) -> None:
        size, more = 0, True
        while more:
            message = await receive()
            size, more = size + len(message["body"]), message["more_body"]
        await send({"type": "http.response.start", "status": 200, "headers": [(b"connection", b"close")]})
        await send({"type": "http.response.body", "body": str(size).encode()})

    async def answered() -> bytes:
        config = uvicorn.Config(count, lifespan="off", log_level="critical")
        limits = ConnectionLimits(max_connections=8, request_timeout_s=60)
        loop, state = asyncio.get_running_loop(), ServerState()
        protocols: list[HttpProtocol] = []

        def make() -> HttpProtocol:
            protocols.append(HttpProtocol(config, state, {}, limits=limits))
            return protocols[-1]

        def look() -> None:
            seen.extend(each.conn.num_chunks for each in protocols)
            loop.call_soon(look)

        server = await loop.create_server(make, "127.0.0.1", 0)
        loop.call_soon(look)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(
            b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" + HOST + b"\r\n" + chunk * number + b"0\r\n\r\n"
        )
        whole = await reader.read()
        writer.close()
        server.close()
        return whole

    assert f"\r\n{number * 40}\r\n".encode() in asyncio.run(answered())
    assert seen[-1] == number
    assert max(later - sooner for sooner, later in pairwise(seen)) <= CHUNKS_AT_ONCE + CHUNKED_BYTES // len(chunk) + 1


def test_a_body_of_too_many_small_chunks_is_refused(patient: ServedApi) -> None:
    head = (
        b"POST /v1/jobs HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )

    answer = exchange(patient, head, b"1\r\n \r\n" * (MOST_SMALL_CHUNKS + 1_000))

    assert problem(answer) == (400, "invalid_request")


ODD_HOSTS = [
    *(b"evil.example{}", b"{evil.example}", b"evil.example}", b'evil.example"', b'"evil.example"', b"evil.example`"),
    *(b"evil.example#", b"evil.example#.localhost", b"evil.example/", b"evil.example/.localhost", b"evil.example?"),
    *(b"evil.example:99999", b"localhost:99999", b"evil.example:", b"evil.example:80:80", b"evil.example:http"),
    *(b"user@evil.example", b"localhost@evil.example", b"user:word@localhost", b"evil.example\\.localhost", b"[::1"),
    *(b"::1", b"[::1]evil.example", b"[localhost]", b"evil.example ", b"evil example", b"evil.example,localhost"),
    *(
        b"evil.example;localhost",
        b"evil%2eexample",
        b"<evil.example>",
        b"evil.example|",
        b"evil^example",
        b"$evil",
        b"",
    ),
    *(
        "\xe4vil.example".encode(),
        b"\xff.example",
        b"*",
        b"evil.example=",
        b"(evil.example)",
        b"evil!example",
        b"~",
        b"'",
    ),
]


@pytest.mark.parametrize("host", ODD_HOSTS)
def test_a_host_that_is_no_plain_name_is_refused(patient: ServedApi, host: bytes) -> None:
    """Without keys, who is asked for decides: a page of another name may have been led to this address."""
    answer = exchange(patient, b"GET /v1/jobs HTTP/1.1\r\nHost: " + host + b"\r\nConnection: close\r\n\r\n")

    assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 403 "))


@pytest.mark.parametrize("host", [b"localhost", b"localhost:80", b"127.0.0.1:65535", b"[::1]:8765", b"a-b_c.localhost"])
def test_a_plain_host_is_served(patient: ServedApi, host: bytes) -> None:
    answer = exchange(patient, b"GET /livez HTTP/1.1\r\nHost: " + host + b"\r\nConnection: close\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 200 ")
