"""How a connection is made: resolve once, check every address, dial one of the checked, all before a deadline."""

from __future__ import annotations

import queue
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import httpcore

from storage.runtime.egress.errors import HostUnresolved, SafeHttpError, TimedOut
from storage.runtime.egress.public_addresses import Address, AddressRules

Resolver = Callable[[str, int], Sequence[str]]
"""Host and port to every address; raises OSError for a name that has none."""

_WRITE_BYTES = 16 * 1024


def system_resolver(host: str, port: int) -> Sequence[str]:
    """The addresses that the system's resolver gives, IPv4 first: more receivers can be reached by it."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = dict.fromkeys(str(entry[4][0]) for entry in sorted(found, key=lambda entry: entry[0] != socket.AF_INET))
    return tuple(addresses)


def literal_addresses(host: str, port: int) -> Sequence[str] | None:
    """What the host stands for if it is an address in any spelling, or this machine; None for any other name."""
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return ("127.0.0.1",)
    try:
        found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except OSError:
        return None
    return tuple(str(entry[4][0]) for entry in found)


class Deadline:
    """The moment at which an attempt is over, on the monotonic clock."""

    def __init__(self, total_s: float) -> None:
        self._end_s = time.monotonic() + total_s

    def left_s(self, at_most_s: float | None = None) -> float:
        """Raises `TimedOut` when nothing is left."""
        left = self._end_s - time.monotonic()
        if left <= 0:
            raise TimedOut("the attempt took too long")
        return left if at_most_s is None else min(left, at_most_s)


def resolve(host: str, port: int, resolver: Resolver, rules: AddressRules, deadline: Deadline) -> tuple[Address, ...]:
    """Every address of the host, all of them checked: an answer with one private address among public ones is a trap.

    Raises `HostUnresolved`, `AddressBlocked` or `TimedOut`.
    """
    found = _resolved_in_time(host, port, resolver, deadline)
    if not found:
        raise HostUnresolved(f"{host} has no address")
    return tuple(rules.check(address) for address in found)


def _resolved_in_time(host: str, port: int, resolver: Resolver, deadline: Deadline) -> Sequence[str]:
    """In a thread, because the system's resolver takes no time limit; a slow one is left behind."""
    answers: queue.SimpleQueue[Sequence[str] | OSError | UnicodeError] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answers.put(resolver(host, port))
        except (OSError, UnicodeError) as error:
            answers.put(error)

    threading.Thread(target=ask, name="resolver", daemon=True).start()
    try:
        answer = answers.get(timeout=deadline.left_s())
    except queue.Empty as error:
        raise TimedOut(f"the name server did not answer for {host}") from error
    if isinstance(answer, OSError | UnicodeError):
        raise HostUnresolved(f"{host} cannot be resolved") from answer
    return answer


class CheckedDialler(httpcore.NetworkBackend):
    """For one attempt: connects to the addresses that were checked, whatever name the request carries."""

    def __init__(self, addresses: Sequence[Address], connect_s: float, deadline: Deadline) -> None:
        self._addresses = addresses
        self._connect_s = connect_s
        self._deadline = deadline
        self._sockets = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        """One address after the other. `host` is what the request names; it is resolved already."""
        failure: httpcore.NetworkError | httpcore.TimeoutException | None = None
        for address in self._addresses:
            left_s = self._deadline.left_s(self._connect_s)
            try:
                stream = self._sockets.connect_tcp(str(address), port, left_s, None, socket_options)
            except (httpcore.NetworkError, httpcore.TimeoutException) as error:
                failure = error
                continue
            return _TimedStream(stream, self._deadline)
        raise failure or httpcore.ConnectError("no address")

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None
    ) -> httpcore.NetworkStream:
        raise SafeHttpError("a request to the network does not go to a local socket")


class _TimedStream(httpcore.NetworkStream):
    """A connection on which every step ends by the deadline: a peer that sends a byte now and then gains nothing."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: Deadline) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._deadline.left_s(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _WRITE_BYTES):
            self._stream.write(buffer[start : start + _WRITE_BYTES], self._deadline.left_s(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        left_s = self._deadline.left_s(timeout)
        return _TimedStream(self._stream.start_tls(ssl_context, server_hostname, left_s), self._deadline)

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401  (the library's signature)
        return self._stream.get_extra_info(info)
