"""`llm_stream.py` as a process, between a chat server that streams tokens and a whole system that speaks."""

from __future__ import annotations

import http.server
import json
import os
import subprocess
import sys
import threading
import wave
from collections.abc import Iterator
from pathlib import Path

import pytest

from rhapsode.stack.stack import Stack
from tests.environment import without_settings
from tests.examples.conftest import EXAMPLES
from tests.examples.test_webhook_receivers import PATIENCE_S
from tests.threads import join_in_time

TOKENS = ("The", " sky", " is", " blue", ".", " Blue", " light", " scat", "ters", " most", ".")


class _ChatServer(http.server.BaseHTTPRequestHandler):
    """Streams `TOKENS` in the format of OpenAI's chat completions."""

    def do_POST(self) -> None:
        assert json.loads(self.rfile.read(int(self.headers["Content-Length"])))["stream"] is True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for token in TOKENS:
            part = {
                "id": "1",
                "object": "chat.completion.chunk",
                "choices": [{"index": 0, "delta": {"content": token}}],
            }
            self.wfile.write(f"data: {json.dumps(part)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@pytest.fixture
def environment(stack: Stack) -> Iterator[dict[str, str]]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _ChatServer)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    chat = {"OPENAI_BASE_URL": f"http://127.0.0.1:{server.server_port}/v1", "OPENAI_API_KEY": "none", "LLM": "any"}
    yield without_settings(os.environ) | chat | {"RHAPSODE_SERVER_URL": stack.url}
    server.shutdown()
    server.server_close()
    join_in_time(thread)


def speak(path: str, environment: dict[str, str]) -> bytes:
    command = [sys.executable, str(EXAMPLES / "llm_stream.py"), "Why is the sky blue?", path]
    spoken = subprocess.run(command, env=environment, stdout=subprocess.PIPE, timeout=PATIENCE_S, check=True)
    return spoken.stdout


def test_an_answer_becomes_a_wav_file(environment: dict[str, str], tmp_path: Path) -> None:
    speak(str(tmp_path / "answer.wav"), environment)

    with wave.open(str(tmp_path / "answer.wav")) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, 24_000)
        assert file.getnframes() / file.getframerate() > 1


def test_an_answer_goes_to_a_player_as_samples(environment: dict[str, str]) -> None:
    samples = speak("-", environment)

    assert len(samples) > 2 * 24_000
    assert len(samples) % 2 == 0
