"""A whole stack on the fake engine for the session, and a scripted HTTP server for what a healthy one never does."""

from __future__ import annotations

import http.server
import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from rhapsode import Rhapsode
from rhapsode.stack.options import StackOptions
from rhapsode.stack.stack import Stack
from tests.command_line import CLI, CommandLine
from tests.environment import without_settings
from tests.process_tree import end_everything_below
from tests.threads import join_in_time

FAKE_ENGINE = {"RHAPSODE_ENGINE": "fake", "RHAPSODE_SLOTS": "4"}
ONE_OF_EACH = {"RHAPSODE_API_PROCESSES": "1", "RHAPSODE_CPU_WORKERS": "1"}
"""Whatever the machine has."""


def clean_environment(**more: str) -> dict[str, str]:
    """The tests' environment without anybody's Rhapsode settings, on the fake engine."""
    mine = without_settings(os.environ)
    return mine | FAKE_ENGINE | ONE_OF_EACH | more


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> None:
    """What is started in the background of a script ignores Ctrl-C, and so would all that the tests start."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="package")
def stack(run_dir: Path) -> Iterator[Stack]:
    options = StackOptions(run_dir / "stack", has_local_webhooks=True)
    with Stack(options, clean_environment(), lambda event: None) as stack:
        stack.wait_ready()
        yield stack


@pytest.fixture
def client(stack: Stack) -> Iterator[Rhapsode]:
    with Rhapsode(stack.url) as client:
        yield client


RunCli = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run_cli(command_line: CommandLine, tmp_path: Path) -> RunCli:
    """Run the command line in a folder of its own; `input` goes to standard input, `env` adds variables."""

    def run(*arguments: str, input: bytes = b"", env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        environment = clean_environment(**({"XDG_DATA_HOME": str(tmp_path / "share")} | (env or {})))
        return command_line.run(*arguments, input=input, folder=tmp_path, environment=environment)

    return run


StartCli = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start_cli(tmp_path: Path, data_dir: Path) -> Iterator[StartCli]:
    """As `run_cli`, left running; whatever still runs at the end of the test is killed, before `data_dir` goes."""
    processes: list[subprocess.Popen[str]] = []

    def start(*arguments: str, input: str = "", env: dict[str, str] | None = None) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [CLI, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            env=clean_environment(**({"XDG_DATA_HOME": str(tmp_path / "share")} | (env or {}))),
            start_new_session=True,
        )
        processes.append(process)
        assert process.stdin is not None
        process.stdin.write(input)
        process.stdin.close()
        # communicate() would flush it once more.
        process.stdin = None
        return process

    yield start
    end_everything_below([process.pid for process in processes if process.poll() is None])
    for process in processes:
        process.communicate()


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    body: bytes
    headers: dict[str, str]
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Received:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class ScriptedServer:
    """Answers request after request as written; keeps what it was sent."""

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.received: list[Received] = []
        script = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                script.received.append(Received(self.command, self.path, headers, body))
                reply = script.replies.pop(0)
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply.body) + (10 if reply.cut else 0)))
                self.end_headers()
                self.wfile.write(reply.body)
                self.close_connection = reply.cut

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

            def log_message(self, format: str, *args: object) -> None:
                """Nothing: the test looks at `received`."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    def answer(self, status: int, body: object, headers: dict[str, str] | None = None) -> None:
        """A JSON body, or a text as it is."""
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.replies.append(Reply(status, data, headers or {}))

    def stream(self, events: bytes) -> None:
        self.replies.append(Reply(200, events, {"Content-Type": "text/event-stream"}))

    def cut(self, body: bytes, headers: dict[str, str] | None = None) -> None:
        """The connection breaks after the body, which announced more."""
        self.replies.append(Reply(200, body, headers or {}, cut=True))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        join_in_time(self._thread)


@pytest.fixture
def script() -> Iterator[ScriptedServer]:
    server = ScriptedServer()
    yield server
    server.close()
