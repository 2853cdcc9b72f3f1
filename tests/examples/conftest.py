"""A whole system on the fake engine, which may tell receivers on this machine; and a receiver of a test's own."""

from __future__ import annotations

import http.server
import json
import os
import queue
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rhapsode import Rhapsode
from rhapsode.stack.options import StackOptions
from rhapsode.stack.stack import Stack
from tests.environment import without_settings
from tests.threads import join_in_time

EXAMPLES = Path(__file__).parents[2] / "examples"
SERVER = "http://127.0.0.1:8765"
"""What every example has for the server's address."""

SETTINGS = {
    "RHAPSODE_ENGINE": "fake",
    "RHAPSODE_SLOTS": "4",
    "RHAPSODE_API_PROCESSES": "1",
    "RHAPSODE_CPU_WORKERS": "1",
}


@pytest.fixture(scope="package")
def stack(run_dir: Path) -> Iterator[Stack]:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    options = StackOptions(run_dir / "examples", has_local_webhooks=True)
    with Stack(options, without_settings(os.environ) | SETTINGS, lambda event: None) as stack:
        stack.wait_ready()
        yield stack


@pytest.fixture
def client(stack: Stack) -> Iterator[Rhapsode]:
    with Rhapsode(stack.url) as client:
        yield client


@dataclass(frozen=True, slots=True)
class Receiver:
    """url: where it is told. told: bodies as they came."""

    url: str
    told: queue.Queue[Any] = field(default_factory=queue.Queue)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    told: queue.Queue[Any] = queue.Queue()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            told.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: the test looks at `told`."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield Receiver(f"http://127.0.0.1:{server.server_port}/resume/1", told)
    server.shutdown()
    server.server_close()
    join_in_time(thread)
