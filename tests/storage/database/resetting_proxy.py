"""A way to a server that resets its connections, as a failing network or a proxy that restarts does."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Generator

from tests.threads import join_in_time

_RESET_AT_CLOSE = struct.pack("ii", 1, 0)
"""SO_LINGER: on, zero seconds. The other end sees a reset, not an end."""


class ResettingProxy:
    """server: where to forward to, a Unix socket's path. resets: connections that were reset so far."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self._clients: set[socket.socket] = set()
        self._lock = threading.Lock()
        self.port: int = self._listener.getsockname()[1]
        self.resets = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def reset_all(self) -> None:
        with self._lock:
            clients, self._clients = self._clients, set()
        for client in clients:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_AT_CLOSE)
            _shut(client)
            self.resets += 1

    def close(self) -> None:
        _shut(self._listener)
        self.reset_all()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._server)
                with self._lock:
                    self._clients.add(client)
                for source, target in ((client, server), (server, client)):
                    threading.Thread(target=self._forward, args=(source, target), daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        with self._lock:
            self._clients -= {source, target}
        _shut(source)
        _shut(target)


def _shut(end: socket.socket) -> None:
    """Wakes the thread that reads there, and closes it."""
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RD)
    end.close()


@contextlib.contextmanager
def resetting_proxy(server: str) -> Generator[ResettingProxy]:
    proxy = ResettingProxy(server)
    try:
        yield proxy
    finally:
        proxy.close()


@contextlib.contextmanager
def resets_every(proxy: ResettingProxy, seconds: float) -> Generator[None]:
    """All connections, again and again until the end."""
    stop = threading.Event()

    def reset() -> None:
        while not stop.wait(seconds):
            proxy.reset_all()

    thread = threading.Thread(target=reset)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        join_in_time(thread)
