"""`rhapsode webhooks listen`: a temporary endpoint, and a line for each webhook."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from rhapsode.cli.failures import Misuse, terminated_like_interrupted
from rhapsode.cli.visible import echo
from rhapsode.errors import InvalidRequest
from rhapsode.webhooks import MAX_BODY_BYTES, WebhookEvent, WebhookRefused, verify

if TYPE_CHECKING:
    from rhapsode.client.secret_answers import CreatedWebhookEndpoint
    from rhapsode.client.sync.client import Rhapsode

LOOK_S = 0.5
"""The longest delay of Ctrl-C."""

Connect = Callable[[], "AbstractContextManager[Rhapsode]"]


@dataclass(frozen=True, slots=True)
class ListenOrder:
    """url: of the port for the server; None: this machine's address. secret: None registers an endpoint.

    count: end after so many webhooks.
    """

    events: tuple[str, ...]
    port: int
    url: str | None
    secret: str | None
    count: int | None
    as_json: bool


def listen_and_print(order: ListenOrder, connect: Connect) -> None:
    """Until Ctrl-C, SIGTERM or the count."""
    try:
        with listening(order.port) as listener, terminated_like_interrupted(), _expected(order, listener, connect):
            try:
                _print_all(order, listener)
            except KeyboardInterrupt:
                echo("stopped", err=True)
    except OSError as error:
        raise Misuse(f"--port: cannot listen on {order.port}: {error}") from error


@contextmanager
def _expected(order: ListenOrder, listener: Listener, connect: Connect) -> Generator[None]:
    """While open, the server sends webhooks here."""
    address = order.url or f"http://127.0.0.1:{listener.port}/"
    if order.secret is not None:
        listener.secret = order.secret
        echo(f"listening at http://127.0.0.1:{listener.port}/", err=True)
        yield
        return
    with connect() as client:
        endpoint = _registered(client, address, order)
        listener.secret = endpoint.secret
        echo(f"listening at http://127.0.0.1:{listener.port}/ as {endpoint.id}; Ctrl-C stops it", err=True)
        try:
            yield
        finally:
            client.webhooks.delete(endpoint)


def _registered(client: Rhapsode, address: str, order: ListenOrder) -> CreatedWebhookEndpoint:
    try:
        return client.webhooks.create(address, order.events, description="rhapsode webhooks listen")
    except InvalidRequest as error:
        if any(violation.code in ("blocked_address", "url_refused") for violation in error.violations):
            hint = "start it with `rhapsode up --local-webhooks`, or give --url"
            raise Misuse(f"the server does not send to this machine: {error.problem.sentence()}; {hint}") from error
        raise


def _print_all(order: ListenOrder, listener: Listener) -> None:
    seen = 0
    while order.count is None or seen < order.count:
        try:
            received = listener.received.get(timeout=LOOK_S)
        except queue.Empty:
            continue
        _print(received, as_json=order.as_json)
        seen += received.event is not None


def _print(received: Received, *, as_json: bool) -> None:
    event = received.event
    if event is None:
        echo(f"refused: {received.reason}", err=True)
    elif as_json:
        echo(received.body.decode())
    else:
        echo("\t".join((f"{event.sent_at.astimezone():%H:%M:%S}", event.type, _subject(received), event.id)))


def _subject(received: Received) -> str:
    """The subject in a few words."""
    data = received.event.data if received.event else {}
    match data:
        case {"job": {"id": str(job), "state": str(state)}}:
            return f"{job} {state}"
        case {"voice": {"id": str(voice), "name": name}}:
            return f"{voice} {name}"
        case {"webhook_endpoint": {"id": str(endpoint)}}:
            return endpoint
        case _:
            return "-"


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
