"""Small servers that speak the wire shapes of others: what each asks for, and what it answers with.

They refuse a request that the real one would refuse, say a tone in pieces at a pace, and fail when they are told to.
"""

from __future__ import annotations

import http.server
import json
import math
import struct
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pydantic import JsonValue
from websockets.sync.server import ServerConnection, serve

from tests.threads import join_in_time

RATE_HZ = 24_000
SILENCE_S = 0.1
_SAID = frozenset({"input", "model", "voice", "response_format"})
_QWEN = _SAID | {"language", "stream", "non_streaming_mode", "instructions", "seed"}


@dataclass(frozen=True)
class Shape:
    """required, known: fields of a request. fixed: what some of them have to be. headers: of the answer."""

    required: frozenset[str]
    known: frozenset[str]
    fixed: dict[str, JsonValue]
    headers: dict[str, str]


SHAPES = {
    "openai": Shape(
        _SAID - {"response_format"},
        _SAID | {"instructions", "speed"},
        {"response_format": "pcm"},
        {"Content-Type": "audio/pcm"},
    ),
    "kokoro": Shape(
        frozenset({"input"}),
        _SAID | {"speed", "stream", "lang_code"},
        {"response_format": "pcm", "stream": True},
        {"Content-Type": "audio/pcm"},
    ),
    "vllm-omni": Shape(
        frozenset({"input"}),
        _QWEN | {"stream_format", "task_type", "ref_audio", "ref_text", "x_vector_only_mode"},
        {"response_format": "pcm", "stream": True, "stream_format": "audio", "non_streaming_mode": False},
        {"Content-Type": "audio/pcm"},
    ),
    "sglang-omni": Shape(
        frozenset({"input"}),
        _QWEN,
        {"response_format": "pcm", "stream": True, "non_streaming_mode": False},
        {"Content-Type": "audio/pcm", "X-Sample-Rate": str(RATE_HZ)},
    ),
    "nari": Shape(
        frozenset({"input"}),
        _QWEN,
        {"response_format": "pcm", "stream": True, "non_streaming_mode": False},
        {"Content-Type": "application/octet-stream"},
    ),
}


@dataclass
class Manner:
    """pieces: of 0.1 s of a tone, behind one of silence; pause_s: before each, so that no client asks a thousand times
    a second. heard: the bodies of all requests.

    fails_after: how many requests are answered before all others are 503. breaks_off: every answer, in its middle.
    headers: in place of the shape's. head: of the audio, before its first sample.
    """

    pieces: int = 5
    pause_s: float = 0.01
    fails_after: int | None = None
    breaks_off: bool = False
    headers: dict[str, str] | None = None
    head: bytes = b""
    heard: list[dict[str, JsonValue]] = field(default_factory=list[dict[str, JsonValue]])

    @property
    def audio_s(self) -> float:
        return SILENCE_S + 0.1 * self.pieces


def tone(seconds: float) -> bytes:
    count = round(seconds * RATE_HZ)
    samples = (round(8000 * math.sin(2 * math.pi * 220 * n / RATE_HZ)) for n in range(count))
    return struct.pack(f"<{count}h", *samples)


SILENCE = bytes(2 * round(SILENCE_S * RATE_HZ))
TONE = tone(0.1)


@contextmanager
def speech_server(kind: str, manner: Manner) -> Generator[str]:
    """Its URL."""
    shape = SHAPES[kind]

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            manner.heard.append(body)
            if self.path != "/v1/audio/speech":
                self._refuse(404, "Not Found")
            elif manner.fails_after is not None and len(manner.heard) > manner.fails_after:
                self._refuse(503, "out of memory")
            elif fault := fault_of(shape, body):
                self._refuse(422, fault)
            else:
                self._speak()

        def _refuse(self, status: int, why: str) -> None:
            said = json.dumps({"error": {"message": why}}).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def _speak(self) -> None:
            self.send_response(200)
            for name, value in (shape.headers if manner.headers is None else manner.headers).items():
                self.send_header(name, value)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for number, piece in enumerate([manner.head + SILENCE, *[TONE] * manner.pieces]):
                time.sleep(manner.pause_s)
                if manner.breaks_off and number == 2:
                    self.close_connection = True
                    return
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n")

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        join_in_time(thread)


def fault_of(shape: Shape, body: dict[str, JsonValue]) -> str:
    if missing := shape.required - body.keys():
        return f"missing: {sorted(missing)}"
    if unknown := body.keys() - shape.known:
        return f"unknown: {sorted(unknown)}"
    wrong = {name for name, value in shape.fixed.items() if body.get(name) != value}
    return f"wrong: {sorted(wrong)}" if wrong else ""


@contextmanager
def nari_socket_server(manner: Manner) -> Generator[str]:
    """A server of `nari.speech.v1`; its URL as HTTP has it. A refusal is an event."""

    def converse(connection: ServerConnection) -> None:
        audio = {"encoding": "pcm_s16le", "sample_rate": RATE_HZ, "channels": 1}

        def say(kind: str, **fields: object) -> None:
            connection.send(json.dumps({"type": kind, **fields}))

        say("session.created", protocol="nari.speech.v1", audio=audio)
        start = json.loads(connection.recv())
        manner.heard.append(start)
        if manner.fails_after is not None and len(manner.heard) > manner.fails_after:
            say("error", error={"status": 429, "message": "no place"})
            return
        say("request.configured")
        text = ""
        while (event := json.loads(connection.recv()))["type"] == "input_text.append":
            text += event["text"]
            say("input_text.ack", sequence=event["sequence"])
        start["input"] = text
        say("input_text.ack", sequence=event["sequence"])
        say("response.started", request_id="r", audio=audio)
        for number, piece in enumerate([SILENCE, *[TONE] * manner.pieces]):
            time.sleep(manner.pause_s)
            if manner.breaks_off and number == 2:
                return
            connection.send(piece)
        say("response.done", stop_reason="stop", audio_chunks=1 + manner.pieces)

    def subprotocol(_connection: ServerConnection, offered: list[str]) -> str | None:
        return next((name for name in offered if name == "nari.speech.v1"), None)

    with serve(converse, "127.0.0.1", 0, select_subprotocol=subprotocol) as server:  # pyright: ignore[reportArgumentType]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.socket.getsockname()[1]}"
        finally:
            server.shutdown()
            join_in_time(thread)
