"""The processes of compose.yaml, started by their own commands with their own settings and drawn secrets, outside a
container: no capability, a tree that cannot be written, a Valkey with the file's configuration. Only addresses, the
paths of secrets and the engine (tones) are exchanged.
"""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import redis

from rhapsode import Rhapsode
from storage.database.embedded_valkey import find_server_binary
from tests.docker import compose_file
from tests.docker.compose_file import image_environment
from tests.docker.conftest import DOCKER
from tests.process_tree import end_everything_below
from tests.storage.objects.embedded_s3 import BUCKET, EmbeddedS3

CLI = Path(sys.executable).parent / "rhapsode"
WAIT_S = 120.0
SPEAKING = ("decoder-worker", "speech-worker")

CONFINED = """
mount --make-rprivate / && mount --bind "$0" "$0" && mount -o remount,bind,ro / &&
exec setpriv --no-new-privs --bounding-set=-all --inh-caps=-all -- "$@"
"""


@pytest.fixture(scope="module")
def confinement() -> Sequence[str]:
    """In front of a command and of the one folder that it may write."""
    prefix = ["unshare", "--mount", *(() if os.geteuid() == 0 else ("--map-root-user",)), "sh", "-c", CONFINED]
    try:
        outcome = subprocess.run([*prefix, "/tmp", "true"], capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        pytest.skip(f"no mount namespaces here: {error}")
    if outcome.returncode != 0:
        pytest.skip(f"no mount namespaces here: {outcome.stderr.strip()}")
    return prefix


class Containers:
    """Starts services in one folder, which is all that they may write."""

    def __init__(self, compose: Mapping[str, Any], folder: Path, prefix: Sequence[str], own: Mapping[str, str]) -> None:
        self.services = compose["services"]
        self._folder = folder
        self._prefix = prefix
        self._own = own
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, *arguments: str, **more: str) -> None:
        """The service's command with `arguments` for its own, and `more` settings."""
        service = self.services[name]
        dockerfile = DOCKER.parent / service["build"]["dockerfile"]
        settings = image_environment(dockerfile) | service["environment"] | dict(self._own) | more
        paths = {"PATH": os.environ["PATH"], "HOME": str(self._folder), "TMPDIR": str(self._folder)}
        command = [*self._prefix, self._folder, CLI, "run", service["command"][0], *arguments]
        environment = {**{key: str(value) for key, value in settings.items()}, **paths}
        with (self._folder / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(command, env=environment, cwd="/", stdout=log, stderr=log)

    def ended(self, name: str) -> tuple[int, float]:
        """SIGTERM; its exit status, and the seconds that it took."""
        asked_s = time.monotonic()
        self.processes[name].send_signal(signal.SIGTERM)
        status = self.processes[name].wait(WAIT_S)
        return status, time.monotonic() - asked_s

    def said(self, name: str) -> str:
        return (self._folder / f"{name}.log").read_text()


@pytest.fixture(scope="module")
def valkey_port(drawn_secrets: Path, run_dir: Path) -> Iterator[int]:
    """A server with docker/valkey/valkey.conf."""
    folder = run_dir / "compose-valkey"
    folder.mkdir()
    port = free_port()
    configuration = (DOCKER / "valkey" / "valkey.conf").read_text()
    paths = {"/run/secrets/valkey_password": drawn_secrets / "valkey_password.conf", "dir /data": f"dir {folder}"}
    for inside, outside in paths.items():
        configuration = configuration.replace(inside, str(outside))
    (folder / "valkey.conf").write_text(configuration.replace("port 6379", f"port {port}"))
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen([find_server_binary(), folder / "valkey.conf"], stdout=log, stderr=log)
    password = (drawn_secrets / "redis_password").read_text()
    with redis.Redis(port=port, password=password) as client:
        wait(lambda: answers(client), lambda: (folder / "log").read_text())
    yield port
    server.terminate()
    server.wait(WAIT_S)


@pytest.fixture
def containers(
    compose: dict[str, Any],
    confinement: Sequence[str],
    drawn_secrets: Path,
    valkey_port: int,
    weed: EmbeddedS3,
    data_dir: Path,
) -> Iterator[Containers]:
    password = (drawn_secrets / "redis_password").read_text()
    (data_dir / "redis_url").write_text(f"redis://:{password}@127.0.0.1:{valkey_port}/0")
    access, secret = weed.credentials
    profile = f"[default]\naws_access_key_id = {access}\naws_secret_access_key = {secret}\n"
    (data_dir / "s3_credentials").write_text(profile)
    own = {
        "RHAPSODE_REDIS_URL_FILE": str(data_dir / "redis_url"),
        "RHAPSODE_WEBHOOK_KEY_FILE": str(drawn_secrets / "webhook_key"),
        "RHAPSODE_STORE": f"s3://{BUCKET}/compose",
        "RHAPSODE_S3_ENDPOINT_URL": weed.endpoint_url,
        "RHAPSODE_S3_PUBLIC_ENDPOINT": weed.endpoint_url.replace("127.0.0.1", "localhost"),
        "AWS_SHARED_CREDENTIALS_FILE": str(data_dir / "s3_credentials"),
    }
    started = Containers(compose, data_dir, confinement, own)
    yield started
    processes = started.processes.values()
    end_everything_below([process.pid for process in processes if process.poll() is None])
    for process in processes:
        process.wait()


@pytest.mark.timeout(600)
def test_the_services_narrate_and_end_in_time_with_no_right_and_a_read_only_tree(
    containers: Containers, compose: dict[str, Any], drawn_secrets: Path
) -> None:
    api_port = free_port()
    ports = {name: free_port() for name in ("speech-worker", "cpu-worker", "hooks-worker", "janitor")}
    address = f"http://127.0.0.1:{api_port}"
    keys = {"RHAPSODE_API_KEYS_FILE": str(drawn_secrets / "api_keys.json"), "RHAPSODE_PUBLIC_URL": address}
    containers.start("api", "--host", "127.0.0.1", "--port", str(api_port), **keys)
    for name, port in ports.items():
        # Tones instead of speech; everything else is as it stands in the file.
        more = {"RHAPSODE_METRICS_PORT": str(port)}
        containers.start(name, RHAPSODE_ENGINE="fake", RHAPSODE_FAKE_STEP_S="0.001", **more)

    # The images' own health checks, once there is something to see.
    probed = [f"{address}/readyz", *(f"http://127.0.0.1:{port}/metrics" for port in ports.values())]
    for url in probed:
        wait(lambda url=url: is_served(url), lambda: everything(containers))
        subprocess.run([sys.executable, DOCKER / "probe.py", url], check=True)
    operator_key = (drawn_secrets / "operator_key").read_text()
    with Rhapsode(address, api_key=operator_key) as client:
        wait(lambda: "fake" in str(client.models()), lambda: everything(containers))
        job = client.wait(client.submit_job("A container speaks. It says two sentences.", voice="ada"))
        link = next(artifact.url for artifact in job.artifacts if artifact.name == "narration.wav")

    assert job.state == "succeeded", everything(containers)
    assert link is not None
    assert link.startswith("http://localhost:")
    with urllib.request.urlopen(link) as answer:
        assert answer.read(4) == b"RIFF"
    for name in ("api", "speech-worker", "cpu-worker", "hooks-worker", "janitor"):
        status, took_s = containers.ended(name)
        # uvicorn ends itself by the signal that asked it to, once it is done.
        assert status in ((0, -signal.SIGTERM) if name == "api" else (0,)), containers.said(name)
        assert took_s < int(compose["services"][name]["stop_grace_period"].removesuffix("s"))


@pytest.mark.timeout(600)
def test_a_decoder_apart_decodes_for_its_speech_worker_and_ends_in_time(
    containers: Containers, compose: dict[str, Any], drawn_secrets: Path, data_dir: Path
) -> None:
    over = compose_file.load(DOCKER / "compose.decoder.yaml", {"CHECKPOINT": "/models/x", "DECODER_CPUS": "1"})
    containers.services = compose_file.overlaid(compose, over)["services"]
    api_port, decoder_port, ports = free_port(), free_port(), {name: free_port() for name in SPEAKING}
    address = f"http://127.0.0.1:{api_port}"
    drawn = (drawn_secrets / "decoder").read_text()
    (data_dir / "decoder").write_text(drawn.replace("decoder-worker:7777", f"127.0.0.1:{decoder_port}"))
    keys = {"RHAPSODE_API_KEYS_FILE": str(drawn_secrets / "api_keys.json"), "RHAPSODE_PUBLIC_URL": address}
    containers.start("api", "--host", "127.0.0.1", "--port", str(api_port), **keys)
    containers.start("cpu-worker", RHAPSODE_METRICS_PORT=str(free_port()))
    for name, port in ports.items():
        # Another checkpoint and another address; threads, profile and the token are the files'.
        own = {"RHAPSODE_DECODER_DEVICE_FILE": str(data_dir / "decoder"), "RHAPSODE_CHECKPOINT": "small_voice"}
        containers.start(name, RHAPSODE_METRICS_PORT=str(port), **own)

    with Rhapsode(address, api_key=(drawn_secrets / "operator_key").read_text()) as client:
        wait(lambda: is_served(f"{address}/readyz"), lambda: everything(containers))
        wait(lambda: "small_voice" in str(client.models()), lambda: everything(containers))
        job = client.wait(client.submit_job("A decoder decodes apart.", model="small_voice"))

    assert job.state == "succeeded", everything(containers)
    assert f"the decoder on ws://127.0.0.1:{decoder_port}/cpu is ready: connected" in containers.said("speech-worker")
    assert drawn.split("@")[0].removeprefix("ws://:") not in everything(containers)
    status, took_s = containers.ended("decoder-worker")
    grace = containers.services["decoder-worker"]["stop_grace_period"]
    assert (status, took_s < int(grace.removesuffix("s"))) == (0, True), containers.said("decoder-worker")


def is_served(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=30):
            return True
    except OSError:
        return False


def answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False


def wait(condition: Callable[[], bool], complaint: Callable[[], str]) -> None:
    give_up = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < give_up, complaint()
        time.sleep(0.4)


def everything(containers: Containers) -> str:
    return "\n".join(f"--- {name}\n{containers.said(name)[-1500:]}" for name in containers.processes)


def free_port() -> int:
    """Below the range from which outgoing connections take theirs, so that it is still free when it is bound."""
    while True:
        port = random.randrange(20_000, 32_768)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
