"""A way to an S3 server on which everything can go wrong that goes wrong on a network, and be right again."""

from __future__ import annotations

import contextlib
import enum
import socket
import struct
import threading
import time
from collections.abc import Generator

from tests.threads import join_in_time

_RESET_AT_CLOSE = struct.pack("ii", 1, 0)
"""SO_LINGER: on, zero seconds. The other end sees a reset, not an end."""

_BUFFER_BYTES = 64 * 1024
"""Of the proxy's sockets: what is slow must not disappear into large ones."""

SLOW_DOWN = (
    b'<?xml version="1.0" encoding="UTF-8"?>\n'
    b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
)
PAGE = b"<!doctype html><title>We will be back soon</title><p>Maintenance."


class Mode(enum.Enum):
    WELL = "well"
    STOPPED = "stopped"
    """Connections are refused, and those that are there reset."""

    BUSY = "busy"
    """Everything is answered 503 SlowDown."""

    PAGE = "page"
    """Everything is answered 200, by what is no S3 server."""

    SILENT = "silent"
    """Connections are taken, and nothing is ever answered."""

    TRICKLING = "trickling"
    """Answers come at `RATE_BYTES_S`."""

    SLOW_UPLOADS = "slow uploads"
    """Requests are taken at `UPLOAD_BYTES_S`."""


RATE_BYTES_S = 4 * 1024
UPLOAD_BYTES_S = 2 * 1024 * 1024


class FaultyProxy:
    """port: of the server. address: where clients come to. connections: that were made so far."""

    def __init__(self, port: int) -> None:
        self._server_port = port
        self._mode = Mode.WELL
        self._changed = threading.Event()
        self._clients: set[socket.socket] = set()
        self._ended = threading.Condition()
        self._port = 0
        self._listen()
        self.connections = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def become(self, mode: Mode) -> None:
        """A call that waits for an answer from before the change never gets it."""
        if self._mode is Mode.STOPPED:
            self._listen()
        self._mode = mode
        self._changed.set()
        self._changed = threading.Event()
        if mode is Mode.STOPPED:
            self._stop_listening()
        if mode in (Mode.STOPPED, Mode.WELL):
            self._reset_all()

    def close(self) -> None:
        self.become(Mode.STOPPED)

    def _listen(self) -> None:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
        listener.bind(("127.0.0.1", self._port))
        listener.listen(512)
        self._listener, self._port = listener, listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def _stop_listening(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                self.connections += 1
                with self._ended:
                    self._clients.add(client)
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            with client, socket.create_connection(("127.0.0.1", self._server_port)) as server:
                down = threading.Thread(target=self._answer, args=(server, client), daemon=True)
                down.start()
                with contextlib.suppress(OSError):
                    self._forward_requests(client, server)
                for end in (server, client):
                    with contextlib.suppress(OSError):
                        end.shutdown(socket.SHUT_RDWR)
                join_in_time(down)
        finally:
            with self._ended:
                self._clients.discard(client)
                self._ended.notify_all()

    def _forward_requests(self, client: socket.socket, server: socket.socket) -> None:
        while request := client.recv(_BUFFER_BYTES):
            match self._mode:
                case Mode.BUSY:
                    _say(client, b"503 Slow Down", SLOW_DOWN)
                    return
                case Mode.PAGE:
                    _say(client, b"200 OK", PAGE)
                    return
                case Mode.SILENT:
                    self._changed.wait()
                    return
                case Mode.SLOW_UPLOADS:
                    time.sleep(len(request) / UPLOAD_BYTES_S)
                case _:
                    pass
            server.sendall(request)

    def _answer(self, server: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while answer := server.recv(_BUFFER_BYTES):
                if self._mode is Mode.SILENT:
                    self._changed.wait()
                    break
                for start in range(0, len(answer), RATE_BYTES_S // 4):
                    client.sendall(answer[start : start + RATE_BYTES_S // 4])
                    if self._mode is Mode.TRICKLING:
                        self._changed.wait(0.25)
        for end in (server, client):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _reset_all(self) -> None:
        """Returns when none of them is left: no call finds one in a pool that is about to go."""
        with self._ended:
            there = set(self._clients)
            for client in there:
                with contextlib.suppress(OSError):
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_AT_CLOSE)
                    client.shutdown(socket.SHUT_RDWR)
            assert self._ended.wait_for(lambda: not there & self._clients, 60), "connections stay"


def _say(client: socket.socket, status: bytes, body: bytes) -> None:
    """An answer to whatever was asked, and the end of the connection once the client has heard it."""
    head = b"HTTP/1.1 %s\r\nContent-Type: text/xml\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
    client.sendall(head % (status, len(body)) + body)
    client.shutdown(socket.SHUT_WR)
    client.settimeout(1)
    while client.recv(_BUFFER_BYTES):
        pass


@contextlib.contextmanager
def faulty_proxy(endpoint_url: str) -> Generator[FaultyProxy]:
    """endpoint_url: of the server."""
    proxy = FaultyProxy(int(endpoint_url.rpartition(":")[2]))
    try:
        yield proxy
    finally:
        proxy.close()
