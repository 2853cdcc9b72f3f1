"""A reverse proxy that takes a prefix off, as nginx does for `location /tts/ { proxy_pass http://api/; }`."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from socketserver import BaseRequestHandler, ThreadingTCPServer
from urllib.parse import urlsplit

PREFIX = "/tts"

_END = b"\r\n\r\n"
_CONNECTION = re.compile(rb"^connection:.*\r\n", re.IGNORECASE | re.MULTILINE)


class StrippingProxy(ThreadingTCPServer):
    """Each connection carries one request, or one WebSocket. An address without the prefix is 404, from the proxy."""

    daemon_threads = True
    request_queue_size = 128
    upstream = ""
    """To be set before the first request."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Passage)
        self.url = f"http://127.0.0.1:{self.server_address[1]}{PREFIX}"


class _Passage(BaseRequestHandler):
    server: StrippingProxy  # pyright: ignore[reportIncompatibleVariableOverride] - nothing else makes one

    def handle(self) -> None:
        head, end, body = self._head().partition(_END)
        if not end:
            return
        method, path, rest = head.split(b" ", 2)
        if not path.startswith(f"{PREFIX}/".encode()):
            self.request.sendall(b"HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
            return
        if b"upgrade: websocket" not in rest.lower():
            rest = _CONNECTION.sub(b"", rest) + b"\r\nConnection: close"
        upstream = urlsplit(self.server.upstream)
        with socket.create_connection((upstream.hostname, upstream.port)) as api:
            api.sendall(b" ".join((method, path[len(PREFIX) :], rest)) + _END + body)
            sending = threading.Thread(target=_pass_on, args=(self.request, api), daemon=True)
            sending.start()
            _pass_on(api, self.request)

    def _head(self) -> bytes:
        head = b""
        while _END not in head and (more := self.request.recv(65_536)):
            head += more
        return head


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65_536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        # One of the two has gone: the other is closed with the connection.
        return


@contextmanager
def stripping_proxy() -> Generator[StrippingProxy]:
    with StrippingProxy() as proxy:
        thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            thread.join()
