"""The chart's questions for KEDA, put to a real Prometheus that scrapes two APIs and has our rules loaded."""

from __future__ import annotations

import http.server
import socket
import subprocess
import threading
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.docker.conftest import DOCKER
from tests.docker.test_chart import FULL, of_kind, rendered
from tests.process_tree import PATIENCE_S, terminate
from tests.tools.wanted import HOW_TO_GET_PROMETHEUS, find_prometheus, without
from tests.waiting import until

QUEUE = 'queue="gpu.qwen3-1.7b",lane="gpu"'
FIGURES = f"""
rhapsode_fleet_up 1
rhapsode_backlog_audio_seconds{{{QUEUE},class="bulk"}} 250000
rhapsode_backlog_audio_seconds{{{QUEUE},class="interactive"}} 2000
rhapsode_backlog_audio_seconds{{queue="gpu.other",lane="gpu",class="bulk"}} 777
rhapsode_queue_oldest_wait_seconds{{{QUEUE},class="interactive"}} 3
rhapsode_queue_oldest_wait_seconds{{{QUEUE},class="bulk"}} 900
rhapsode_queue_oldest_wait_seconds{{queue="cpu",lane="cpu",class="bulk"}} 11
"""


@pytest.fixture
def program() -> Path:
    found = find_prometheus("prometheus")
    if found is None:
        without(HOW_TO_GET_PROMETHEUS)
    return found


class Figures(http.server.BaseHTTPRequestHandler):
    """What an API tells of the whole system."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
        self.end_headers()
        self.wfile.write(FIGURES.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@contextmanager
def an_api() -> Generator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Figures) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}).start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


@contextmanager
def a_prometheus(program: Path, folder: Path, targets: Sequence[str]) -> Generator[httpx.Client]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(DOCKER / "prometheus" / "rules.yaml")],
        "scrape_configs": [{"job_name": "rhapsode-api", "static_configs": [{"targets": list(targets)}]}],
    }
    (folder / "prometheus.yaml").write_text(yaml.safe_dump(config))
    options = {"config.file": folder / "prometheus.yaml", "storage.tsdb.path": folder, "web.listen-address": address}
    command = [program, *(f"--{name}={value}" for name, value in options.items())]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            with httpx.Client(base_url=f"http://{address}/api/v1/", timeout=PATIENCE_S, trust_env=False) as client:
                yield client
        finally:
            terminate(process)


def value_of(prometheus: httpx.Client, query: str) -> float | None:
    """As KEDA reads it: one series with one value, or none yet."""
    try:
        found = prometheus.get("query", params={"query": query}).raise_for_status().json()["data"]["result"]
    except httpx.HTTPError:
        return None
    assert len(found) <= 1, f"KEDA takes one series, not {len(found)}: {query}"
    return float(found[0]["value"][1]) if found else None


def healths(prometheus: httpx.Client) -> set[str]:
    """Of the rules that are loaded, each of which is `unknown` until it was asked."""
    groups = prometheus.get("rules").raise_for_status().json()["data"]["groups"]
    return {rule["health"] for group in groups for rule in group["rules"]}


def triggers(name: str) -> list[dict[str, Any]]:
    scaled = {each["metadata"]["name"]: each["spec"] for each in of_kind(rendered(FULL), "ScaledObject")}
    return scaled[name]["triggers"]


def test_the_scalers_questions_are_answered_in_audio_seconds_for_each_gpu(program: Path, tmp_path: Path) -> None:
    backlog, oldest = triggers("demo-rhapsode-speech-qwen3-17b")
    (cpu,) = triggers("demo-rhapsode-cpu")

    with ExitStack() as opened:
        apis = [opened.enter_context(an_api()) for _ in range(2)]
        prometheus = opened.enter_context(a_prometheus(program, tmp_path, apis))
        until(lambda: value_of(prometheus, "count(rhapsode_fleet_up)") == 2)
        answers = [value_of(prometheus, each["metadata"]["query"]) for each in (backlog, oldest, cpu)]
        until(lambda: value_of(prometheus, "sum(rhapsode:backlog_audio_seconds)") is not None)
        of_rules = value_of(prometheus, 'sum(rhapsode:backlog_audio_seconds{queue="gpu.qwen3-1.7b"})')
        until(lambda: "unknown" not in healths(prometheus))
        rules = healths(prometheus)

    # Two APIs tell the same system's figures, which count once.
    assert answers == [252_000, 3, 11]
    assert of_rules == 252_000
    # A replica is a GPU: KEDA divides by the threshold, the seconds of audio that one is to have before it.
    assert [each["metricType"] for each in (backlog, oldest)] == ["AverageValue", "AverageValue"]
    assert -(-252_000 // int(backlog["metadata"]["threshold"])) == 3
    assert rules == {"ok"}
