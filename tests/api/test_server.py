"""The API's process: what it says of a machine that gives it less than it was told to take."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import httpx

from storage.runtime.config.settings import StorageSettings
from tests.environment import settings_of_stores, without_settings

LIMIT = 260


def test_more_connections_than_files_are_refused_in_words(storage_settings: StorageSettings, tmp_path: Path) -> None:
    """Four of them, as 256 files are no connections."""
    environment = without_settings(os.environ) | settings_of_stores(storage_settings)
    said = tmp_path / "said"
    with socket.create_server(("127.0.0.1", 0)) as listener, said.open("wb") as log:
        address = listener.getsockname()
        command = f"ulimit -n {LIMIT}; exec {sys.executable} -m api.server --fd {listener.fileno()}"
        process = subprocess.Popen(
            ["bash", "-c", command], env=environment, pass_fds=[listener.fileno()], stdout=log, stderr=log
        )
    idle: list[socket.socket] = []
    try:
        url = f"http://127.0.0.1:{address[1]}/livez"
        assert httpx.get(url, timeout=60, trust_env=False).status_code == 200
        idle += [socket.create_connection(address) for _ in range(LIMIT - 256)]
        refused = httpx.get(url, timeout=60, trust_env=False)
    finally:
        for each in idle:
            each.close()
        process.kill()
        process.wait()

    assert (refused.status_code, refused.json()["code"]) == (503, "too_many_connections")
    assert int(refused.headers["Retry-After"]) >= 1
    assert f"no more than {LIMIT} files may be open here, so {LIMIT - 256} connections are served" in said.read_text()
