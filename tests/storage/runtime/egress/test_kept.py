"""Connections that are kept go where a new one would go, serve whom they were made for, and cost no answer."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
import threading
from collections.abc import Awaitable, Callable, Sequence

import pytest
import trustme

from storage.runtime.egress import kept
from storage.runtime.egress.connecting import AttemptTimes, HttpAnswer, Resolver
from storage.runtime.egress.errors import AddressBlocked, ConnectionFailed, HostUnresolved, Redirected, TimedOut
from storage.runtime.egress.kept import KeptHttp
from storage.runtime.egress.public_addresses import AddressRules
from storage.runtime.egress.url_rules import UrlRules
from tests.storage.runtime.egress.listeners import NO_CONTENT, answers, keeping, listener

LOOPBACK = UrlRules(addresses=AddressRules((ipaddress.ip_network("127.0.0.1/32"),)))
PATIENT = AttemptTimes(connect_s=15.0, total_s=15.0)
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def here(host: str, port: int) -> Sequence[str]:
    return ["127.0.0.1"]


def used(
    script: Callable[[KeptHttp], Awaitable[object]],
    resolver: Resolver = here,
    times: AttemptTimes = PATIENT,
    tls: ssl.SSLContext = NO_TLS,
) -> None:
    """Runs the script with a client, which is closed at its end."""

    async def run() -> None:
        client = KeptHttp(LOOPBACK, times, resolver, tls)
        try:
            await script(client)
        finally:
            client.close()

    asyncio.run(run())


async def post(
    client: KeptHttp, port: int, body: bytes = b"{}", party: str = "alice", scheme: str = "http"
) -> HttpAnswer:
    return await client.post(party, f"{scheme}://studio.test:{port}/hook", body, {}, 100)


def test_one_after_the_other_takes_one_connection_and_two_at_once_take_two() -> None:
    async def script(client: KeptHttp) -> None:
        for number in range(3):
            assert (await post(client, server.port, b"%d" % number)).status == 204
        await asyncio.gather(post(client, server.port), post(client, server.port))

    with keeping() as server:
        used(script)

    assert server.bodies[:3] == [b"0", b"1", b"2"]
    assert sorted(server.requests) == [1, 4]


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"])
def test_a_redirect_ends_the_attempt_and_is_not_followed(status: str) -> None:
    async def script(client: KeptHttp) -> None:
        with pytest.raises(Redirected):
            await post(client, server.port)

    with listener(answers(b"secret")) as trap:
        target = f"Location: http://127.0.0.1:{trap.port}/latest/meta-data\r\n"
        with listener(answers(b"", status, target)) as server:
            used(script)

        assert trap.connections == 0


def test_a_post_tells_the_status_and_the_beginning_of_the_answer() -> None:
    async def script(client: KeptHttp) -> None:
        url = f"http://studio.test:{server.port}/hook"
        answer = await client.post("alice", url, b'{"a":1}', {"webhook-id": "evt_1"}, 1_000)

        assert (answer.status, len(answer.body), answer.is_whole) == (503, 1_000, False)
        assert answer.headers["retry-after"] == "120"

    with listener(answers(b"x" * 5_000, "503 Unavailable", "Retry-After: 120\r\n")) as server:
        used(script)

        assert b"\r\nwebhook-id: evt_1\r\n" in server.requests[0]
        assert server.requests[0].endswith(b'\r\n\r\n{"a":1}')


def test_parties_share_no_connection() -> None:
    async def script(client: KeptHttp) -> None:
        for party in ("alice", "bob", "alice"):
            await post(client, server.port, party=party)

    with keeping() as server:
        used(script)

    assert server.requests == [2, 1]


def test_a_name_is_asked_for_at_every_attempt_and_one_that_turned_private_is_blocked() -> None:
    questions: list[str] = []

    def resolver(host: str, port: int) -> Sequence[str]:
        questions.append(host)
        return ["127.0.0.1"] if len(questions) < 3 else ["127.0.0.1", "10.0.0.1"]

    async def script(client: KeptHttp) -> None:
        await post(client, server.port)
        await post(client, server.port)
        with pytest.raises(AddressBlocked):
            await post(client, server.port)

    with keeping() as server:
        used(script, resolver)

    assert server.requests == [2]
    assert len(questions) == 3


def test_a_kept_connection_to_an_address_that_the_name_has_left_is_not_used() -> None:
    places = iter([["127.0.0.1"], ["127.0.0.2"]])
    rules = UrlRules(addresses=AddressRules((ipaddress.ip_network("127.0.0.0/8"),)))

    async def script() -> None:
        client = KeptHttp(rules, PATIENT, lambda host, port: next(places), NO_TLS)
        await post(client, server.port)
        with pytest.raises(ConnectionFailed):
            # Nothing listens there; over the kept one it would have arrived.
            await post(client, server.port)
        assert server.ended.acquire(timeout=30)
        client.close()

    with keeping() as server:
        asyncio.run(script())

    assert server.requests == [1]


def test_attempts_that_begin_while_a_name_is_asked_for_share_the_answer() -> None:
    questions: list[str] = []
    begun, go_on = threading.Event(), threading.Event()

    def resolver(host: str, port: int) -> Sequence[str]:
        questions.append(host)
        begun.set()
        go_on.wait(30)
        return ["127.0.0.1"]

    async def script(client: KeptHttp) -> None:
        first = asyncio.create_task(post(client, server.port))
        await asyncio.to_thread(begun.wait, 30)
        others = [asyncio.create_task(post(client, server.port)) for _ in range(3)]
        await asyncio.sleep(0)
        go_on.set()
        await asyncio.gather(first, *others)
        await post(client, server.port)

    with keeping() as server:
        used(script, resolver)

    assert len(questions) == 2
    assert sum(server.requests) == 5


def test_a_name_server_that_hangs_costs_one_attempt_its_time_and_others_nothing() -> None:
    over = threading.Event()

    def resolver(host: str, port: int) -> Sequence[str]:
        if host == "slow.test":
            over.wait(30)
        return ["127.0.0.1"]

    async def script(client: KeptHttp) -> None:
        slow = asyncio.create_task(client.post("alice", f"http://slow.test:{server.port}/", b"", {}, 1))
        await asyncio.sleep(0)
        assert (await post(client, server.port)).status == 204
        assert not slow.done()
        with pytest.raises(TimedOut):
            await slow
        over.set()

    with keeping() as server:
        used(script, resolver, AttemptTimes(connect_s=2, total_s=2))


def test_a_name_without_an_address_is_unresolved() -> None:
    def resolver(host: str, port: int) -> Sequence[str]:
        raise OSError("no such name")

    async def script(client: KeptHttp) -> None:
        with pytest.raises(HostUnresolved):
            await post(client, 80)

    used(script, resolver)


def test_a_kept_connection_that_the_server_gave_up_costs_no_answer() -> None:
    """Closed before the request came, or as it came: it goes over another one, once."""

    async def script(client: KeptHttp) -> None:
        for _ in range(3):
            assert (await post(client, server.port)).status == 204

    with keeping(lambda connection, request: b"" if connection == 0 and request == 1 else NO_CONTENT) as server:
        used(script)

    assert server.requests == [2, 2]


def test_a_new_connection_that_ends_without_an_answer_has_failed_and_nothing_is_sent_twice() -> None:
    async def script(client: KeptHttp) -> None:
        with pytest.raises(ConnectionFailed):
            await post(client, server.port)

    with keeping(lambda _, __: b"") as server:
        used(script)

    assert server.requests == [1]


def test_half_an_answer_has_failed_over_a_kept_connection_too_and_nothing_is_sent_twice() -> None:
    half = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\nhalf"

    async def script(client: KeptHttp) -> None:
        await post(client, server.port)
        with pytest.raises((ConnectionFailed, TimedOut)):
            await post(client, server.port)

    with keeping(lambda _, request: half if request else NO_CONTENT) as server:
        used(script, times=AttemptTimes(connect_s=2, total_s=2))

    assert server.requests == [2]


def test_an_answer_that_was_not_asked_for_is_never_taken_for_the_next_ones() -> None:
    """Neither in one piece with the first answer nor after it."""
    forged = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"
    pieces = iter([NO_CONTENT + forged, NO_CONTENT])

    async def script(client: KeptHttp) -> None:
        for _ in range(2):
            answer = await post(client, server.port)
            assert (answer.status, answer.body) == (204, b"")

    with keeping(lambda _, __: next(pieces)) as server:
        used(script)

    assert server.requests == [1, 1]


def test_an_unasked_answer_that_comes_late_ends_the_connection() -> None:
    say_more = threading.Event()

    def late(stream: socket.socket, _: bytes) -> None:
        stream.sendall(NO_CONTENT)
        say_more.wait(30)
        stream.sendall(NO_CONTENT)
        stream.recv(1)

    async def script(client: KeptHttp) -> None:
        await post(client, server.port)
        say_more.set()
        await asyncio.sleep(0.2)
        say_more.clear()
        assert (await post(client, server.port)).status == 204

    with listener(late) as server:
        used(script)
        say_more.set()

    assert server.connections == 2


@pytest.mark.parametrize(
    "head", [b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"]
)
def test_a_server_that_keeps_none_is_believed(head: bytes) -> None:
    async def script(client: KeptHttp) -> None:
        for _ in range(2):
            assert (await post(client, server.port)).status < 300

    with keeping(lambda _, __: head) as server:
        used(script)

    assert server.requests == [1, 1]


def test_what_was_long_idle_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "IDLE_S", 0.05)

    async def script(client: KeptHttp) -> None:
        await post(client, server.port)
        assert await asyncio.to_thread(server.ended.acquire, timeout=30)
        await post(client, server.port)

    with keeping() as server:
        used(script)

    assert server.requests == [1, 1]


def test_no_more_are_kept_than_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MAX_KEPT", 2)

    async def script(client: KeptHttp) -> None:
        await asyncio.gather(*(post(client, server.port, party=f"{number}") for number in range(5)))
        for _ in range(3):
            assert await asyncio.to_thread(server.ended.acquire, timeout=30)

    with keeping() as server:
        used(script)


def test_over_tls_the_certificate_is_checked_against_the_name_and_the_connection_kept() -> None:
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("studio.test").configure_cert(context)
    trust = ssl.create_default_context()
    authority.configure_trust(trust)

    async def script(client: KeptHttp) -> None:
        for _ in range(2):
            assert (await post(client, server.port, scheme="https")).status == 204
        with pytest.raises(ConnectionFailed):
            await client.post("alice", f"https://elsewhere.test:{server.port}/", b"", {}, 1)

    with keeping(tls=context) as server:
        used(script, tls=trust)

    assert server.requests[0] == 2


def test_a_head_without_an_end_is_given_up_when_it_is_too_long() -> None:
    def endless(stream: socket.socket, _: bytes) -> None:
        stream.sendall(b"HTTP/1.1 200 OK\r\n")
        while True:
            stream.sendall(b"X-More: " + b"x" * 4_000 + b"\r\n")

    async def script(client: KeptHttp) -> None:
        with pytest.raises(ConnectionFailed):
            await post(client, server.port)

    with listener(endless) as server:
        used(script)


def test_an_attempt_that_ran_out_of_time_leaves_no_connection_behind() -> None:
    async def script(client: KeptHttp) -> None:
        with pytest.raises(TimedOut):
            await post(client, server.port)
        assert await asyncio.to_thread(ended.wait, 30)

    ended = threading.Event()

    def silent(stream: socket.socket, _: bytes) -> None:
        stream.settimeout(None)
        if stream.recv(1) == b"":
            ended.set()

    with listener(silent) as server:
        used(script, times=AttemptTimes(connect_s=0.5, total_s=0.5))
