"""One trace from the request to the webhook, over real processes, and nothing at all while tracing is off."""

from __future__ import annotations

import http.server
import json
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from rhapsode.stack.options import StackOptions
from rhapsode.stack.stack import Stack
from storage.runtime.config.settings import StorageSettings
from storage.runtime.observability.tracing import current_trace, span
from tests.threads import join_in_time
from tests.waiting import until

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE_ID}-b7ad6b7169203331-01"


@contextmanager
def receiver() -> Generator[tuple[str, threading.Event]]:
    """A webhook's receiver on this machine; the event says that something came."""
    came = threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(204)
            self.end_headers()
            came.set()

        def log_message(self, format: str, *args: object) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/hook", came
    finally:
        server.shutdown()
        server.server_close()
        join_in_time(thread)


def spans_in(folder: Path) -> list[dict[str, Any]]:
    # A line that is still being written has no end yet.
    lines = [line for file in folder.glob("*.jsonl") for line in file.read_text().splitlines(keepends=True)]
    return [json.loads(line) for line in lines if line.endswith("\n")]


def test_a_request_and_all_that_follows_from_it_are_one_trace(data_dir: Path) -> None:
    traces = data_dir / "traces"
    environ = {"RHAPSODE_ENGINE": "fake", "RHAPSODE_FAKE_STEP_S": "0.001", "RHAPSODE_TRACING": traces.as_uri()}
    options = StackOptions(data_dir / "stack", has_local_webhooks=True)
    with receiver() as (url, came), Stack(options, environ, lambda _: None) as stack:
        stack.wait_ready()
        # Of several segments: each has items of its own.
        body = {
            "input": {"text": "Good morning. Good night. " * 40},
            "webhook": {"url": url, "events": ["job.succeeded"]},
        }
        answer = httpx.post(f"{stack.url}/v1/jobs", json=body, headers={"traceparent": PARENT}, timeout=30)
        assert answer.status_code == 202, answer.text
        assert came.wait(120)
        until(lambda: any(each["name"] == "webhook" for each in spans_in(traces)))

    mine = [each for each in spans_in(traces) if each["context"]["trace_id"] == f"0x{TRACE_ID}"]
    names = {each["name"] for each in mine}
    assert {"request", "item plan", "item segment", "item assemble", "engine", "store put", "webhook"} <= names
    services = {each["resource"]["attributes"]["service.name"] for each in mine}
    assert services == {"rhapsode-api", "rhapsode-cpu", "rhapsode-gpu", "rhapsode-hooks"}
    ids = {each["context"]["span_id"] for each in mine} | {"0xb7ad6b7169203331"}
    assert all(each["parent_id"] in ids for each in mine)
    assert "Good morning" not in "".join(file.read_text() for file in traces.glob("*.jsonl"))


def test_without_tracing_nothing_is_loaded_and_a_span_is_nothing() -> None:
    with span("request", PARENT, method="GET") as nothing:
        nothing.note(status=200)
        assert current_trace() == ""
    loaded = "'storage.runtime.observability.tracing_export' in sys.modules"
    program = f"import sys, api.app, worker.lifecycle.start\nsys.exit({loaded})"

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.parametrize("where", ["http://collector:4318", "file://relative", "on"])
def test_tracing_goes_to_otlp_or_to_a_folder(storage_settings: StorageSettings, where: str) -> None:
    with pytest.raises(ValueError, match="must be otlp"):
        StorageSettings.model_validate(storage_settings.model_dump() | {"tracing": where})
