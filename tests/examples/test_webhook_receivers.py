"""The receivers as somebody runs them: processes of their own, told by a system of its jobs."""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from rhapsode import Rhapsode
from rhapsode.stack.stack import Stack
from tests.environment import without_settings
from tests.examples.conftest import EXAMPLES
from tests.process_tree import terminate
from tests.tools.wanted import without
from tests.waiting import until

PATIENCE_S = 120

Start = Callable[..., None]


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def listens(port: int) -> bool:
    with socket.socket() as attempt:
        return attempt.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def start(tmp_path: Path, stack: Stack) -> Iterator[Start]:
    running: list[subprocess.Popen[bytes]] = []

    def run(*command: str, port: int, **settings: str) -> None:
        environment = without_settings(os.environ) | {"RHAPSODE_SERVER_URL": stack.url, **settings}
        running.append(subprocess.Popen([sys.executable, *command], cwd=tmp_path, env=environment))
        until(lambda: listens(port))

    yield run
    for process in running:
        terminate(process)


def test_fastapi_fetches_what_was_narrated(client: Rhapsode, start: Start, tmp_path: Path) -> None:
    port = free_port()
    endpoint = client.webhooks.create(f"http://127.0.0.1:{port}/hooks")
    application = ("-m", "uvicorn", "--app-dir", str(EXAMPLES), "webhook_fastapi:app", "--port", str(port))
    start(*application, port=port, WEBHOOK_SECRET=endpoint.secret, NARRATIONS=str(tmp_path / "kept"))

    job = client.wait(client.submit_job("It is fetched by itself.")).raise_unless_succeeded()
    fetched = tmp_path / "kept" / f"{job.id}-narration.wav"
    until(fetched.exists)

    assert fetched.read_bytes()[:4] == b"RIFF"
    unsigned = httpx.post(f"http://127.0.0.1:{port}/hooks", json={"type": "job.succeeded", "data": {}})
    assert unsigned.status_code == 401
    client.webhooks.delete(endpoint)


def test_django_keeps_each_event_once(client: Rhapsode, start: Start, tmp_path: Path) -> None:
    if importlib.util.find_spec("django") is None:
        without("Django is not installed: `make test` installs it")
    port = free_port()
    endpoint = client.webhooks.create(f"http://127.0.0.1:{port}/hooks")
    start(str(EXAMPLES / "webhook_django.py"), str(port), port=port, WEBHOOK_SECRET=endpoint.secret)

    job = client.wait(client.submit_job("It is kept once.")).raise_unless_succeeded()
    inbox = tmp_path / "inbox"
    until(lambda: any(inbox.glob("*.json")))

    (kept,) = inbox.glob("*.json")
    event = json.loads(kept.read_text())
    assert (event["type"], event["data"]["job"]["id"]) == ("job.succeeded", job.id)
    hooks = f"http://127.0.0.1:{port}/hooks"
    assert httpx.post(hooks, json={"type": "job.succeeded", "data": {}}).status_code == 401
    assert httpx.post(hooks, content=b"x" * 70_000).status_code in {400, 413}
    assert httpx.get(hooks).status_code == 405
    assert list(inbox.glob("*.json")) == [kept]
    client.webhooks.delete(endpoint)
