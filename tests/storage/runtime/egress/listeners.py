"""Servers on the loopback interface that count who comes: traps, and one that answers as it is told."""

from __future__ import annotations

import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.threads import join_in_time

Script = Callable[[socket.socket, bytes], None]
"""What to do with a connection after its request has been read."""


@dataclass(slots=True)
class Listener:
    """`connections` counts every accepted one; `requests` holds the requests that were read."""

    port: int
    connections: int = 0
    requests: list[bytes] = field(default_factory=list)


@contextmanager
def listener(script: Script, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> Generator[Listener]:
    server = socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    server.settimeout(0.01)
    here = Listener(server.getsockname()[1])
    stopping = threading.Event()

    def serve(connection: socket.socket) -> None:
        try:
            with connection if tls is None else tls.wrap_socket(connection, server_side=True) as stream:
                stream.settimeout(5)
                request = _request(stream)
                here.requests.append(request)
                script(stream, request)
        except OSError:
            pass  # the client gave up, which is what some tests are about

    def accept() -> None:
        while not stopping.is_set():
            try:
                connection, _ = server.accept()
            except TimeoutError:
                continue
            here.connections += 1
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=accept)
    thread.start()
    try:
        yield here
    finally:
        stopping.set()
        join_in_time(thread)
        server.close()


def _request(stream: socket.socket) -> bytes:
    """Head and body, by the length that the head tells."""
    request = stream.recv(65_536)
    head, _, body = request.partition(b"\r\n\r\n")
    told = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
    missing = int(told[1]) - len(body) if told else 0
    while missing > 0 and (more := stream.recv(missing)):
        request += more
        missing -= len(more)
    return request


def answers(body: bytes, status: str = "200 OK", headers: str = "") -> Script:
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n{headers}\r\n".encode()
    return lambda stream, _: stream.sendall(head + body)


def hangs(stream: socket.socket, _: bytes) -> None:
    """Says nothing until the other side has gone."""
    stream.settimeout(None)
    while stream.recv(65_536):
        pass


def drips(first: bytes, drop: bytes, pause_s: float) -> Script:
    """Says a little again and again, without end."""

    def script(stream: socket.socket, _: bytes) -> None:
        stream.sendall(first)
        while True:
            time.sleep(pause_s)
            stream.sendall(drop)

    return script


Turn = Callable[[int, int], bytes]
"""What to answer to which request (from 0) of which connection (from 0); nothing ends the connection."""

NO_CONTENT = b"HTTP/1.1 204 No Content\r\n\r\n"


@dataclass(slots=True)
class Keeper:
    """`requests`: how many came over each connection, the oldest first. `ended`: released as one ends."""

    port: int
    requests: list[int] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    ended: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))


@contextmanager
def keeping(answer: Turn = lambda _, __: NO_CONTENT, tls: ssl.SSLContext | None = None) -> Generator[Keeper]:
    """A server that keeps its connections as long as its peers do."""
    server = socket.create_server(("127.0.0.1", 0))
    here = Keeper(server.getsockname()[1])

    def serve(number: int, connection: socket.socket) -> None:
        try:
            with connection if tls is None else tls.wrap_socket(connection, server_side=True) as stream:
                while request := _request(stream):
                    here.bodies.append(request.partition(b"\r\n\r\n")[2])
                    here.requests[number] += 1
                    said = answer(number, here.requests[number] - 1)
                    stream.sendall(said)
                    if not said:
                        return
        except OSError:
            pass  # the client ended it
        finally:
            here.ended.release()

    def accept() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            here.requests.append(0)
            threading.Thread(target=serve, args=(len(here.requests) - 1, connection), daemon=True).start()

    thread = threading.Thread(target=accept)
    thread.start()
    try:
        yield here
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        join_in_time(thread)
