"""Images as they were built: they start as a user without rights, their health checks answer, and they narrate.

`make images` runs this with what it has built: CONTAINER_TOOL, and IMAGES, which are the API's and the worker's.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import wave
from collections.abc import Iterator
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path
from secrets import token_hex

import httpx
import pytest

from storage.database.embedded_valkey import find_server_binary
from tests.docker.conftest import DOCKER
from tests.operations.ports import free_ports

TOOL, IMAGES = os.environ.get("CONTAINER_TOOL", ""), os.environ.get("IMAGES", "")
WORKERS = (("gpu-worker",), ("cpu-worker",), ("janitor",))
TEXT = "The ferry left at noon, and nobody looked back."
START_S = 120

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not shutil.which(TOOL or "no tool") or not IMAGES, reason="CONTAINER_TOOL and IMAGES say which"),
]


def test_they_narrate(redis_url: str, run_dir: Path) -> None:
    api_image, worker_image = IMAGES.split()
    folder = run_dir / "data"
    folder.mkdir()
    folder.chmod(0o777)  # the images' user is another one
    port, *metrics = free_ports(1 + len(WORKERS))
    url = f"http://127.0.0.1:{port}"
    with ExitStack() as ends:
        container = Containers(folder, redis_url, ends)
        api = container.started(api_image, port, "api", "--host", "127.0.0.1", "--port", str(port))
        for command, metrics_port in zip(WORKERS, metrics, strict=True):
            container.started(worker_image, metrics_port, *command)
        answer = spoken(url)

        assert api.poll() is None
        subprocess.run([sys.executable, DOCKER / "probe.py", f"{url}/readyz"], check=True)
        for metrics_port in metrics:
            subprocess.run(
                [sys.executable, DOCKER / "probe.py", f"http://127.0.0.1:{metrics_port}/metrics"], check=True
            )
    with wave.open(BytesIO(answer)) as speech:
        assert speech.getnframes() > speech.getframerate()


class Containers:
    """On this machine's network, with a folder that they share."""

    def __init__(self, folder: Path, redis_url: str, ends: ExitStack) -> None:
        self._folder = folder
        self._redis_url = redis_url
        self._ends = ends
        self._secret = token_hex(16)

    def started(self, image: str, metrics_port: int, *command: str) -> subprocess.Popen[bytes]:
        options = [
            *("--volume", f"{self._folder}:/data", "--env", f"RHAPSODE_REDIS_URL={self._redis_url}"),
            *("--env", "RHAPSODE_STORE=file:///data", "--env", f"RHAPSODE_METRICS_PORT=0.0.0.0:{metrics_port}"),
            *("--env", "RHAPSODE_CHECKPOINT=kokoro", "--env", f"RHAPSODE_URL_SECRET={self._secret}"),
        ]
        if TOOL == "buildah":
            container = subprocess.run([TOOL, "from", image], check=True, capture_output=True, text=True).stdout.strip()
            self._ends.callback(subprocess.run, [TOOL, "rm", container], check=True, capture_output=True)
            line = [TOOL, "run", "--user", "10001:10001", *options, container, "--", "rhapsode", "run", *command]
        else:
            line = [TOOL, "run", "--rm", "--network=host", *options, image, *command]
        process = subprocess.Popen(line)
        self._ends.callback(process.wait)
        self._ends.callback(process.terminate)
        return process


@pytest.fixture
def redis_url(run_dir: Path) -> Iterator[str]:
    (port,) = free_ports(1)
    command = [find_server_binary(), "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(run_dir)]
    with subprocess.Popen([*command, "--maxmemory-policy", "noeviction"], stdout=subprocess.DEVNULL) as server:
        yield f"redis://127.0.0.1:{port}/0"
        server.terminate()


def spoken(url: str) -> bytes:
    """A sentence as WAV, as soon as a worker serves a model."""
    body = {"model": "tts-1", "voice": "alloy", "input": TEXT, "response_format": "wav"}
    until_s = time.monotonic() + START_S
    while True:
        try:
            answer = httpx.post(f"{url}/v1/audio/speech", json=body, timeout=START_S)
            if answer.is_success:
                return answer.content
            said = answer.text
        except httpx.TransportError as error:
            said = str(error)
        assert time.monotonic() < until_s, said
        time.sleep(0.5)
