"""A URL that somebody names never leads to what only we can reach, and never costs more than it may."""

from __future__ import annotations

import ipaddress
import ssl
import threading
import time
from collections.abc import Callable, Sequence

import pytest
import trustme

from storage.runtime.egress.client import SafeHttp
from storage.runtime.egress.connecting import AttemptTimes, Resolver, system_resolver
from storage.runtime.egress.errors import (
    AddressBlocked,
    ConnectionFailed,
    HostUnresolved,
    Redirected,
    ResponseEncoded,
    ResponseTooLarge,
    SafeHttpError,
    TimedOut,
    UnexpectedStatus,
    UrlRefused,
)
from storage.runtime.egress.public_addresses import AddressRules, is_public
from storage.runtime.egress.url_rules import UrlRules
from tests.storage.runtime.egress.listeners import Script, answers, drips, hangs, listener

PUBLIC = "93.184.215.14"
LOOPBACK = AddressRules((ipaddress.ip_network("127.0.0.1/32"),))
QUICK = AttemptTimes(connect_s=15.0, total_s=15.0)
HASTY = AttemptTimes(connect_s=0.5, total_s=0.5)
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # the real one takes a tenth of a second to load

LITERALS = (
    "127.0.0.1",
    "localhost",
    "[::1]",
    "2130706433",
    "0x7f.1",
    "0",
    "127.1",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "169.254.169.254",
    "[fd00:ec2::254]",
    "100.100.100.200",
    "10.0.0.1",
    "[64:ff9b::a9fe:a9fe]",
)
MORE_LITERALS = (
    "[::]",
    "[::127.0.0.1]",
    "[64:ff9b:1::1]",
    "[2002:7f00:1::]",
    "[2001:0:4136:e378:8000:63bf:3fff:fdd2]",
    "[fe80::1]",
    "[ff02::1]",
    "[2001:db8::1]",
    "[3fff::1]",
    "[5f00::1]",
    "[100::1]",
    "0177.0.0.1",
    "127.0.0.1.",
    "①②⑦.⓪.⓪.①",
    "192.168.1.1",
    "172.16.0.1",
    "192.0.0.8",
    "192.88.99.1",
    "198.18.0.1",
    "203.0.113.5",
    "224.0.0.1",
    "255.255.255.255",
)


class CountingResolver:
    """Answers by script and counts the questions."""

    def __init__(self, *turns: Sequence[str]) -> None:
        self._turns = list(turns)
        self.questions = 0

    def __call__(self, host: str, port: int) -> Sequence[str]:
        self.questions += 1
        return self._turns.pop(0)


def open_to(
    port: int, resolver: Resolver = system_resolver, rules: AddressRules | None = None, times: AttemptTimes = QUICK
) -> SafeHttp:
    """A client for plain http to one port, as an installation on its own network would allow it."""
    allowed = UrlRules(frozenset({"http"}), frozenset({port}), rules or AddressRules())
    return SafeHttp(allowed, times, resolver, NO_TLS)


@pytest.mark.parametrize("literal", LITERALS + MORE_LITERALS)
def test_no_spelling_of_a_private_address_reaches_a_listener(literal: str) -> None:
    with listener(answers(b"secret")) as trap:
        client = open_to(trap.port)

        with pytest.raises((AddressBlocked, UrlRefused, HostUnresolved)):
            client.get(f"http://{literal}:{trap.port}/latest/meta-data", 100)
        with pytest.raises((AddressBlocked, UrlRefused, HostUnresolved)):
            client.check(f"http://{literal}:{trap.port}/")
        with pytest.raises((AddressBlocked, UrlRefused)):
            client.check_spelling(f"http://{literal}:{trap.port}/")

        time.sleep(0.02)
        assert trap.connections == 0


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "gopher://127.0.0.1:70/_stats",
        "ftp://example.com/",
        "http://example.com/",
        "https://user:word@example.com/",
        "https://example.com:22/",
        "https://example.com:99999/",
        "https:///nowhere",
        "https://",
        "//example.com/",
        "example.com",
        "",
        "https://exa\r\nmple.com/",
        "https://" + "a" * 300 + ".com/",
        "https://example.com/" + "a" * 3_000,
    ],
)
def test_a_url_we_would_never_open_is_refused_before_its_name_is_looked_up(url: str) -> None:
    resolver = CountingResolver()

    with pytest.raises(UrlRefused):
        SafeHttp(resolver=resolver).get(url, 100)

    assert resolver.questions == 0


def test_spelling_is_checked_without_asking_a_name_server() -> None:
    resolver = CountingResolver()
    client = SafeHttp(resolver=resolver)

    client.check_spelling("https://receiver.example/hook")
    client.check_spelling(f"https://{PUBLIC}:8443/")
    with pytest.raises(UrlRefused):
        client.check_spelling("https://receiver.example:22/")

    assert resolver.questions == 0


def test_in_networks_of_ones_own_plain_http_and_any_port_will_do_and_nowhere_else() -> None:
    rules = UrlRules(addresses=AddressRules((ipaddress.ip_network("127.0.0.0/8"),)))
    with listener(answers(b"sound")) as server:
        own = SafeHttp(rules, QUICK, lambda host, port: ["127.0.0.1"], NO_TLS)
        public = SafeHttp(rules, QUICK, lambda host, port: [PUBLIC], NO_TLS)
        mixed = SafeHttp(rules, QUICK, lambda host, port: ["127.0.0.1", PUBLIC], NO_TLS)
        url = f"http://studio.test:{server.port}/"

        assert own.get(url, 100) == b"sound"
        for client in (public, mixed):
            with pytest.raises(UrlRefused):
                client.get(url, 100)
            with pytest.raises(UrlRefused):
                client.check("http://studio.test/")
        with pytest.raises(AddressBlocked):
            SafeHttp(rules, QUICK, lambda host, port: ["10.0.0.1"], NO_TLS).get(url, 100)
        own.check_spelling(f"http://127.0.0.1:{server.port}/")
        with pytest.raises(UrlRefused):
            own.check_spelling(f"http://{PUBLIC}/")
        with pytest.raises(AddressBlocked):
            own.check_spelling("http://10.0.0.1/")


def test_a_name_that_was_public_when_it_was_registered_and_private_later_is_blocked() -> None:
    with listener(answers(b"secret")) as trap:
        resolver = CountingResolver([PUBLIC], ["127.0.0.1"])
        client = open_to(trap.port, resolver)

        client.check(f"http://rebinding.test:{trap.port}/")
        with pytest.raises(AddressBlocked):
            client.get(f"http://rebinding.test:{trap.port}/", 100)

        assert resolver.questions == 2
        assert trap.connections == 0


def test_the_name_is_resolved_once_for_an_attempt_and_the_checked_address_is_dialled() -> None:
    with listener(answers(b"sound")) as server:
        resolver = CountingResolver(["127.0.0.1"])
        client = open_to(server.port, resolver, LOOPBACK)

        body = client.get(f"http://studio.test:{server.port}/take.wav?n=1#now", 100)

        assert body == b"sound"
        assert resolver.questions == 1
        assert server.requests[0].startswith(b"GET /take.wav?n=1 HTTP/1.1\r\n")
        assert f"\r\nHost: studio.test:{server.port}\r\n".encode() in server.requests[0]


@pytest.mark.parametrize(
    "mixed", [[PUBLIC, "127.0.0.1"], ["127.0.0.1", PUBLIC], [PUBLIC, "::ffff:10.0.0.1"], [PUBLIC, "fe80::1%eth0"]]
)
def test_one_private_address_among_public_ones_blocks_the_host(mixed: list[str]) -> None:
    client = open_to(80, CountingResolver(mixed))

    with pytest.raises(AddressBlocked):
        client.get("http://mixed.test/", 100)


def test_an_answer_without_addresses_and_a_name_that_does_not_exist_are_unresolved() -> None:
    with pytest.raises(HostUnresolved):
        open_to(80, CountingResolver([])).get("http://empty.test/", 100)
    with pytest.raises(HostUnresolved):
        open_to(80).get("http://no-such-host.invalid/", 100)


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"])
def test_a_redirect_ends_the_attempt_and_is_not_followed(status: str) -> None:
    with listener(answers(b"secret")) as trap:
        target = f"Location: http://127.0.0.1:{trap.port}/latest/meta-data\r\n"
        with listener(answers(b"", status, target)) as server:
            client = SafeHttp(
                UrlRules(frozenset({"http"}), frozenset({server.port, trap.port}), LOOPBACK), QUICK, system_resolver
            )

            with pytest.raises(Redirected):
                client.get(f"http://127.0.0.1:{server.port}/", 100)

        assert trap.connections == 0


HOSTILE: dict[str, tuple[Script, type[SafeHttpError]]] = {
    "never answers": (hangs, TimedOut),
    "drips its headers": (drips(b"HTTP/1.1 200 OK\r\n", b"X-More: 1\r\n", 0.1), TimedOut),
    "drips its body": (drips(b"HTTP/1.1 200 OK\r\n\r\n", b"x", 0.1), TimedOut),
    "says more than it promised": (answers(b"x" * 101), ResponseTooLarge),
    "streams without end": (drips(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 10_000, 0), ResponseTooLarge),
    "promises ten gigabytes": (
        drips(b"HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n", b"x" * 1_000, 0),
        ResponseTooLarge,
    ),
    "sends a compressed body": (answers(b"\x1f\x8b", headers="Content-Encoding: gzip\r\n"), ResponseEncoded),
    "does not find it": (answers(b"", "404 Not Found"), UnexpectedStatus),
    "speaks no HTTP": (lambda stream, _: stream.sendall(b"SSH-2.0-OpenSSH\r\n"), ConnectionFailed),
    "hangs up": (lambda stream, _: None, ConnectionFailed),
    "hangs up in the middle": (
        lambda stream, _: stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nabc"),
        ConnectionFailed,
    ),
}


@pytest.mark.parametrize("behaviour", HOSTILE)
def test_a_hostile_server_ends_in_the_error_that_names_it_within_the_attempts_time(behaviour: str) -> None:
    script, error = HOSTILE[behaviour]
    with listener(script) as server:
        client = open_to(server.port, rules=LOOPBACK, times=HASTY)

        with pytest.raises(error):
            client.get(f"http://127.0.0.1:{server.port}/", 100)


def test_a_port_where_nothing_listens_is_a_failed_connection() -> None:
    with listener(answers(b"")) as gone:
        port = gone.port

    with pytest.raises(ConnectionFailed):
        open_to(port, rules=LOOPBACK).get(f"http://127.0.0.1:{port}/", 100)


def test_a_name_server_that_hangs_costs_the_attempts_time_and_no_more() -> None:
    over = threading.Event()

    def hang(host: str, port: int) -> Sequence[str]:
        over.wait()
        return [PUBLIC]

    try:
        with pytest.raises(TimedOut):
            open_to(80, hang, times=HASTY).get("http://slow.test/", 100)
    finally:
        over.set()


def test_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with listener(answers(b"direct")) as server, listener(answers(b"through the proxy")) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv("ALL_PROXY", f"http://127.0.0.1:{proxy.port}")

        assert open_to(server.port, rules=LOOPBACK).get(f"http://127.0.0.1:{server.port}/", 100) == b"direct"
        assert proxy.connections == 0


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


Certified = Callable[[str], ssl.SSLContext]


@pytest.fixture
def certified(authority: trustme.CA) -> Certified:
    def context(name: str) -> ssl.SSLContext:
        server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(name).configure_cert(server)
        return server

    return context


def trusting(authority: trustme.CA, port: int) -> SafeHttp:
    trust = ssl.create_default_context()
    authority.configure_trust(trust)
    rules = UrlRules(ports=frozenset({port}), addresses=LOOPBACK)
    return SafeHttp(rules, QUICK, lambda host, port: ["127.0.0.1"], trust)


def test_the_certificate_is_checked_against_the_name_and_not_the_address(
    authority: trustme.CA, certified: Certified
) -> None:
    with listener(answers(b"sound"), certified("studio.test")) as server:
        client = trusting(authority, server.port)

        assert client.get(f"https://studio.test:{server.port}/", 100) == b"sound"
        with pytest.raises(ConnectionFailed):
            client.get(f"https://elsewhere.test:{server.port}/", 100)


def test_a_certificate_that_no_authority_vouches_for_is_a_failed_connection(certified: Certified) -> None:
    with listener(answers(b"sound"), certified("studio.test")) as server:
        rules = UrlRules(ports=frozenset({server.port}), addresses=LOOPBACK)

        with pytest.raises(ConnectionFailed):
            SafeHttp(rules, QUICK, lambda host, port: ["127.0.0.1"]).get(f"https://studio.test:{server.port}/", 100)


@pytest.mark.parametrize("address", [PUBLIC, "8.8.8.8", "2606:2800:21f:cb07:6820:80da:af6b:8b2c", "2a00:1450:4001::1"])
def test_addresses_of_the_internet_are_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


def test_an_ipv4_address_written_as_ipv6_is_what_it_stands_for() -> None:
    assert AddressRules().check("::ffff:8.8.8.8") == ipaddress.ip_address("8.8.8.8")
    assert LOOPBACK.check("::ffff:127.0.0.1") == ipaddress.ip_address("127.0.0.1")
