"""A receiver on this machine that verifies every webhook."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from rhapsode.webhooks import MAX_BODY_BYTES, WebhookEvent, WebhookRefused, verify

READ_TIMEOUT_S = 15.0


@dataclass(frozen=True, slots=True)
class Received:
    """A verified webhook, or a reason and no event."""

    event: WebhookEvent | None
    body: bytes
    reason: str = ""


class Listener:
    """It refuses webhooks until `secret` is set."""

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self._server = server
        self.received: queue.SimpleQueue[Received] = queue.SimpleQueue()
        self.secret = ""

    @property
    def port(self) -> int:
        return self._server.server_address[1]

    def take(self, body: bytes, headers: dict[str, str]) -> int:
        """The status to answer with."""
        try:
            if not self.secret:
                raise WebhookRefused("nothing is expected yet")
            self.received.put(Received(verify(body, headers, self.secret), body))
        except WebhookRefused as error:
            self.received.put(Received(None, body, str(error)))
            return 401
        return 204


@contextmanager
def listening(port: int) -> Generator[Listener]:
    """On the loopback interface; 0 takes a free port. Raises OSError if the port is taken."""

    class Handler(BaseHTTPRequestHandler):
        timeout = READ_TIMEOUT_S

        def do_POST(self) -> None:
            length = self.headers.get("content-length", "")
            if not length.isdecimal() or int(length) > MAX_BODY_BYTES:
                self._answer(413)
                return
            body = self.rfile.read(int(length))
            self._answer(listener.take(body, dict(self.headers.items())))

        def log_message(self, format: str, *args: object) -> None:
            """The listener prints the webhooks itself."""

        def _answer(self, status: int) -> None:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        listener = Listener(server)
        threading.Thread(target=server.serve_forever, name="webhook-listener", daemon=True).start()
        try:
            yield listener
        finally:
            server.shutdown()
