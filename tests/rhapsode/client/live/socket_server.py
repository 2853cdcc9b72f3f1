"""A WebSocket server of a test's own, which says what a healthy one of Rhapsode's says, and what it never would."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import ServerConnection, serve
from websockets.typing import Subprotocol

from rhapsode.contract.speech_socket import NARI
from tests.threads import join_in_time

AUDIO = {"encoding": "pcm_s16le", "sample_rate": 24_000, "channels": 1}
FRAME = bytes(range(256)) * 15
"""80 ms of samples."""

Script = Callable[["Served"], None]


class Served:
    """One connection, seen from the server. received: every message of the client's, in order."""

    def __init__(self, line: ServerConnection) -> None:
        self.line = line
        self.received: list[dict[str, Any]] = []
        self.is_gone = threading.Event()

    def read(self) -> dict[str, Any]:
        message = json.loads(self.line.recv())
        self.received.append(message)
        return message

    def say(self, kind: str, **fields: object) -> None:
        self.line.send(json.dumps({"type": kind, **fields}))

    def open(self) -> None:
        """To the point where the client may send its text."""
        self.say("session.created", protocol=NARI, audio=AUDIO)
        assert self.read()["type"] == "request.start"
        self.say("request.configured", model="small_voice", voice="slt")

    def text(self) -> dict[str, Any]:
        """The next of the text, acknowledged."""
        message = self.read()
        self.say("input_text.ack", event=message["type"], sequence=message["sequence"])
        return message

    def whole_text(self) -> str:
        pieces: list[str] = []
        while (message := self.text())["type"] != "input_text.end":
            pieces.append(message["text"])
        return "".join(pieces)

    def start(self) -> None:
        self.say("response.started", request_id="r", audio=AUDIO)

    def done(self, num_chunks: int, **fields: object) -> None:
        self.say("response.done", request_id="r", stop_reason="stop", audio_chunks=num_chunks, **fields)

    def until_gone(self) -> None:
        try:
            while True:
                self.read()
        except ConnectionClosed:
            self.is_gone.set()


class SocketServer:
    """served: a connection each, in order."""

    def __init__(self, script: Script, refusals: list[tuple[int, dict[str, str], object]]) -> None:
        self.served: list[Served] = []
        self.requests: list[Request] = []
        self._script = script
        self._refusals = refusals
        self._server = serve(self._serve, "127.0.0.1", 0, subprotocols=[Subprotocol(NARI)], process_request=self._look)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.socket.getsockname()[1]}"

    def close(self) -> None:
        self._server.shutdown()
        join_in_time(self._thread)

    def _look(self, line: ServerConnection, request: Request) -> Response | None:
        self.requests.append(request)
        if not self._refusals:
            return None
        status, headers, body = self._refusals.pop(0)
        return Response(status, "Refused", Headers(headers | {"Connection": "close"}), json.dumps(body).encode())

    def _serve(self, line: ServerConnection) -> None:
        served = Served(line)
        self.served.append(served)
        self._script(served)


@contextmanager
def serving(script: Script, *refusals: tuple[int, dict[str, str], object]) -> Generator[SocketServer]:
    """refusals: status, headers and body of the first answers, in place of a connection."""
    server = SocketServer(script, list(refusals))
    try:
        yield server
    finally:
        server.close()
