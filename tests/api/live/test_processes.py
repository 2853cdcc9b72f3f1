"""API and workers as processes of their own, TLS between them: each is told to stop while streams are heard."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from rhapsode.contract.speech_socket import NARI, SOCKET_PATH
from storage.runtime.config.settings import StorageSettings
from tests.api.openai.socket.test_speech import heard, say, words
from tests.environment import settings_of_stores, without_settings
from tests.security.tls_servers import Authority
from tests.threads import BoundedExecutor
from tests.waiting import until

PATIENCE_S = 120.0
STOPPED = (0, -signal.SIGTERM)
"""As uvicorn ends once it has ended everything else."""

STOPPING = "this server is being stopped, and begins no speech any more"

TEXT = "The first sentence is this one, and it is heard. Here is another, which is longer than that. " * 2
ORDER = {"model": "fake", "voice": "ada", "input": TEXT, "seed": 7, "stream": True, "response_format": "pcm"}
STEP_S = "0.03"
"""Of a frame, of which the text has about 90."""


@dataclass(frozen=True)
class ApiProcess:
    process: subprocess.Popen[bytes]
    http: httpx.Client

    def hear(self, first: Callable[[], object] = lambda: None) -> bytes:
        """A stream to its end. first: called when something of it came."""
        with self.http.stream("POST", "/v1/audio/speech", json=ORDER) as answer:
            assert answer.status_code == 200, answer.read()
            heard = b""
            for piece in answer.iter_raw():
                if not heard:
                    first()
                heard += piece
            return heard

    def events(self, first: Callable[[], object]) -> list[dict[str, Any]]:
        with self.http.stream("POST", "/v1/audio/speech", json=ORDER | {"stream_format": "sse"}) as answer:
            told = (json.loads(line[6:]) for line in answer.iter_lines() if line.startswith("data: "))
            events = [next(told)]
            first()
            return [*events, *told]

    def until_served(self) -> None:
        until(lambda: self.http.post("/v1/audio/speech", json=ORDER | {"input": "Hello."}).status_code == 200)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)


@contextmanager
def serving_api(settings: StorageSettings, **more: str) -> Generator[ApiProcess]:
    environment = without_settings(os.environ) | settings_of_stores(settings) | more
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        command = [sys.executable, "-m", "api.server", "--fd", str(listener.fileno())]
        process = subprocess.Popen(command, env=environment, pass_fds=[listener.fileno()])
    try:
        with httpx.Client(base_url=url, timeout=PATIENCE_S, trust_env=False) as http:
            yield ApiProcess(process, http)
    finally:
        process.kill()
        process.wait()


@contextmanager
def speaking(
    settings: StorageSettings, folder: Path, name: str, authority: Authority
) -> Generator[subprocess.Popen[str]]:
    urls = [each.get_secret_value() for each in (settings.redis_url, settings.broker_url)]
    tls = [str(authority.certificate), str(authority.key)]
    command = [sys.executable, "-m", "tests.api.live.speaking_worker", name, *urls, str(folder), "8", STEP_S, *tls]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as worker:
        try:
            assert worker.stdout is not None
            assert worker.stdout.readline().startswith("wss://")
            yield worker
        finally:
            worker.kill()


@contextmanager
def talk(api: ApiProcess, *messages: dict[str, Any]) -> Generator[ClientConnection]:
    """An open connection behind these messages."""
    url = str(api.http.base_url).replace("http:", "ws:").rstrip("/")
    with connect(f"{url}{SOCKET_PATH}", subprotocols=[Subprotocol(NARI)], proxy=None, open_timeout=60) as client:
        say(client, *messages)
        yield client


def test_sockets_are_told_that_their_process_stops_and_heard_to_their_ends(
    storage_settings: StorageSettings, tmp_path: Path
) -> None:
    authority = Authority.made_in(tmp_path / "tls")
    start = {"type": "request.start", "model": "fake", "voice": "ada", "seed": 7, "keep_open": True}
    spoken = [start, *words(TEXT)]
    with (
        speaking(storage_settings, tmp_path, "one", authority),
        serving_api(storage_settings, RHAPSODE_TLS_CA=str(authority.ca), RHAPSODE_LIVE_DRAIN_S="100") as api,
    ):
        api.until_served()
        with talk(api, *spoken) as client:
            whole, _ = heard(client, "response.done")
        with talk(api) as idle, talk(api, *spoken) as busy, talk(api, *spoken[:3]) as writing:
            heard(idle, "session.created")
            heard(busy, "response.started")
            heard(writing, "response.started")
            api.stop()
            # Who speaks nothing goes at once.
            assert closing(idle) == (1012, f"server_stopping: {STOPPING}")
            # Nobody comes any more.
            with pytest.raises(InvalidStatus) as refused, talk(api):
                pass
            assert refused.value.response.status_code == 503
            # What is spoken is heard, and its text may still be written; the next request is refused.
            say(busy, start)
            audio, events = heard(busy, "response.done")
            assert audio == whole
            assert [each["type"] for each in events if "ack" not in each["type"]] == [
                *("session.ending", "error", "response.done"),
            ]
            assert closing(busy) == (1012, f"server_stopping: {STOPPING}")
            begun, _ = heard(writing, "session.ending")
            say(writing, *spoken[3:])
            audio, _ = heard(writing, "response.done")
            assert begun + audio == whole
            assert closing(writing) == (1012, f"server_stopping: {STOPPING}")
        assert api.process.wait(PATIENCE_S) in STOPPED


def closing(client: ClientConnection) -> tuple[int, str]:
    with suppress(ConnectionClosed):
        for _ in client:
            pass
    assert client.close_code is not None
    assert client.close_reason is not None
    return client.close_code, client.close_reason


def test_streams_are_heard_to_their_ends_where_processes_are_told_to_stop(
    storage_settings: StorageSettings, tmp_path: Path
) -> None:
    authority = Authority.made_in(tmp_path / "tls")
    trust = {"RHAPSODE_TLS_CA": str(authority.ca)}
    with (
        speaking(storage_settings, tmp_path, "one", authority) as leaving,
        speaking(storage_settings, tmp_path, "two", authority),
        serving_api(storage_settings, RHAPSODE_LIVE_DRAIN_S="100", **trust) as patient,
        serving_api(storage_settings, RHAPSODE_LIVE_DRAIN_S="0.2", **trust) as hasty,
        BoundedExecutor(4) as threads,
    ):
        patient.until_served()
        hasty.until_served()
        whole = patient.hear()
        # A worker leaves: its streams go on at the other.
        hearing = [threads.submit(patient.hear) for _ in range(3)]
        hearing.append(threads.submit(patient.hear, leaving.terminate))
        assert [each.result() for each in hearing] == [whole] * 4
        assert leaving.wait(PATIENCE_S) == 0
        # An API process lets its streams end, and begins no others.
        last = threads.submit(patient.hear, patient.stop)
        until(lambda: patient.http.get("/readyz").status_code == 503)
        assert "the server is shutting down (since " in patient.http.get("/readyz").text
        refused = patient.http.post("/v1/audio/speech", json=ORDER)
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "server_stopping")
        assert int(refused.headers["Retry-After"]) >= 1
        assert last.result() == whole
        assert patient.process.wait(PATIENCE_S) in STOPPED
        # One without patience says why it breaks them off.
        events = hasty.events(hasty.stop)
        assert events[-1]["type"] == "speech.audio.error"
        assert events[-1]["error"]["code"] == "server_stopping"
        assert hasty.process.wait(PATIENCE_S) in STOPPED
