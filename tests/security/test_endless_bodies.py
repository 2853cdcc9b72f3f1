"""Row 42: bodies that lie about their length or have no end, sent to a real process: it says no and does not grow."""

from __future__ import annotations

import os
import re
import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from storage.database.connections import connect_redis
from storage.queue.model_registry import ModelRegistry
from storage.runtime.config.settings import StorageSettings
from tests.api.voices.voices import BASE, recording
from tests.environment import settings_of_stores, without_settings

PIECE = b"x" * 65_536
ENDLESS_BYTES = 10 << 30
MOST_GROWTH_KB = 64 << 10
PATIENCE_S = 60


@dataclass(frozen=True)
class Served:
    pid: int
    port: int
    http: httpx.Client

    def peak_kb(self) -> int:
        """The most memory that the process has ever held."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", status)
        return int(peak)

    def pour(self, head: str, piece: bytes = PIECE, frame: str = "") -> tuple[int, int]:
        """Send this head and then without end, until an answer comes: (its status, bytes sent)."""
        sent = 0
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE_S) as stream:
            stream.sendall(head.replace("\n", "\r\n").encode() + b"\r\n\r\n")
            framed = f"{len(piece):x}\r\n".encode() + piece + b"\r\n" if frame == "chunked" else piece
            try:
                while sent < ENDLESS_BYTES and not select.select([stream], [], [], 0)[0]:
                    stream.sendall(framed)
                    sent += len(piece)
            except (BrokenPipeError, ConnectionResetError):
                pass
            stream.settimeout(PATIENCE_S)
            try:
                answer = stream.recv(1024)
            except ConnectionResetError:
                # It hung up with our bytes unread; the answer may be lost on the way.
                return 0, sent
        return int(answer.split()[1]) if answer else 0, sent


@pytest.fixture
def served(storage_settings: StorageSettings) -> Iterator[Served]:
    environment = without_settings(os.environ) | settings_of_stores(storage_settings)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        command = [sys.executable, "-m", "api.server", "--fd", str(listener.fileno())]
        process = subprocess.Popen(command, env=environment, pass_fds=[listener.fileno()], start_new_session=True)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_S, trust_env=False) as http:
            assert http.get("/livez").status_code == 200
            yield Served(process.pid, port, http)
    finally:
        process.kill()
        process.wait()


def test_row_42_endless_and_lying_bodies_are_refused_and_cost_no_memory(
    served: Served, storage_settings: StorageSettings, tmp_path: Path
) -> None:
    with connect_redis(storage_settings) as client:
        ModelRegistry(client, storage_settings.key_prefix).publish(BASE)
    # What an ordinary request loads is no growth.
    voice = {"name": "Ada", "consent": "I agree."}
    files = {"audio_sample": ("a.wav", recording(), "audio/wav")}
    assert served.http.post("/v1/voices", data=voice, files=files).status_code == 201
    place = served.http.post("/v1/uploads", json={"bytes": 5}).json()
    before_kb, in_store = served.peak_kb(), sum(1 for _ in (tmp_path / "store").rglob("*"))
    upload = httpx.URL(place["url"]).raw_path.decode()

    host = "HTTP/1.1\nHost: here"
    multipart = "Content-Type: multipart/form-data; boundary=b"
    outcomes = {
        "a form without end": served.pour(
            f"POST /v1/voices {host}\n{multipart}\nTransfer-Encoding: chunked", frame="chunked"
        ),
        "a job without end": served.pour(f"POST /v1/jobs {host}\nTransfer-Encoding: chunked", frame="chunked"),
        "ten gigabytes, as it says": served.pour(
            f"POST /v1/voices {host}\n{multipart}\nContent-Length: {ENDLESS_BYTES}"
        ),
        "ten gigabytes of five": served.pour(f"POST /v1/jobs {host}\nContent-Length: 5"),
        "an upload of five bytes without end": served.pour(
            f"PUT {upload} {host}\nTransfer-Encoding: chunked", frame="chunked"
        ),
        "an upload of ten gigabytes": served.pour(f"PUT {upload} {host}\nContent-Length: {ENDLESS_BYTES}"),
    }

    assert {
        name: status for name, (status, _) in outcomes.items() if status not in (0, 400, 401, 403, 404, 411, 413, 422)
    } == {}
    assert {name: sent for name, (_, sent) in outcomes.items() if sent > 64 << 20} == {}
    assert served.http.get("/livez").status_code == 200
    assert served.peak_kb() - before_kb < MOST_GROWTH_KB
    assert sum(1 for _ in (tmp_path / "store").rglob("*")) == in_store, "something was left in the store"
