"""A primary, its replica and a Sentinel: three real processes on this machine."""

from __future__ import annotations

import signal
import socket
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import redis
from pydantic import SecretStr
from redis.exceptions import BusyLoadingError

from storage.database.embedded_valkey import find_server_binary
from storage.runtime.config.settings import StorageSettings
from tests.waiting import until

PASSWORD = "p@ss,word/of:tests"
SERVICE = "rhapsode"

_SERVER = """\
port {port}
bind 127.0.0.1
dir {folder}
save ""
appendonly no
repl-diskless-sync-delay 0
"""
_SENTINEL = """\
port {port}
bind 127.0.0.1
dir {folder}
sentinel monitor {service} 127.0.0.1 {primary} 1
sentinel auth-pass {service} "{password}"
sentinel down-after-milliseconds {service} 1000
sentinel failover-timeout {service} 4000
"""


class WatchedServers:
    """`ports`: of the servers."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.ports = (_free_port(), _free_port())
        self.sentinel_port = _free_port()
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    def settings(self, **others: object) -> StorageSettings:
        url = f"redis+sentinel://:p%40ss,word%2Fof%3Atests@127.0.0.1:{self.sentinel_port}/{SERVICE}/0"
        return StorageSettings.model_validate({"redis_url": SecretStr(url), "store": "s3://nowhere", **others})

    def start(self) -> None:
        first, second = self.ports
        self.start_server(first)
        self.start_server(second, of=first)
        until(lambda: self.at(first).info("replication")["connected_slaves"] == 1)
        text = _SENTINEL.format(
            port=self.sentinel_port, folder=self._folder, service=SERVICE, primary=first, password=PASSWORD
        )
        self._launch(self.sentinel_port, text, "--sentinel")
        until(self._is_watched)

    def start_server(self, port: int, of: int | None = None) -> None:
        """of: the port of the primary that it follows."""
        follows = f"replicaof 127.0.0.1 {of}\n" if of else ""
        secrets = f'requirepass "{PASSWORD}"\nmasterauth "{PASSWORD}"\n'
        self._launch(port, _SERVER.format(port=port, folder=self._folder) + secrets + follows)
        until(lambda: self._answers(port))

    def primary(self) -> int:
        """The port, as the Sentinel says."""
        with redis.Redis(port=self.sentinel_port, decode_responses=True) as client:
            known = cast("dict[str, dict[str, int]]", client.sentinel_masters())
            return known[SERVICE]["port"]

    def kill(self, port: int) -> None:
        process = self._processes.pop(port)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def freeze(self, port: int) -> None:
        """As a host that stands still: nothing is answered, and nothing is closed."""
        self._processes[port].send_signal(signal.SIGSTOP)

    def thaw(self, port: int) -> None:
        self._processes[port].send_signal(signal.SIGCONT)

    def deafen(self, port: int) -> None:
        """A replica that hears nothing of its primary any more, until it is chosen to follow it."""
        self.at(port).config_set("masterauth", "wrong")
        for primary in set(self.ports) - {port}:
            self.at(primary).client_kill_filter(_type="replica")
            until(lambda primary=primary: self.at(primary).info("replication")["connected_slaves"] == 0)

    def at(self, port: int) -> redis.Redis:
        return redis.Redis(port=port, password=PASSWORD, decode_responses=True)

    def stop(self) -> None:
        for port in list(self._processes):
            self.kill(port)

    def _is_watched(self) -> bool:
        """Whether the Sentinel knows both, without which it has none to choose."""
        try:
            with redis.Redis(port=self.sentinel_port, decode_responses=True) as client:
                return len(client.sentinel_slaves(SERVICE)) == 1
        except redis.ConnectionError:
            return False

    def _answers(self, port: int) -> bool:
        try:
            with self.at(port) as client:
                return bool(client.ping())
        except (redis.ConnectionError, BusyLoadingError):
            return False

    def _launch(self, port: int, text: str, *flags: str) -> None:
        config, log = self._folder / f"{port}.conf", self._folder / f"{port}.log"
        config.write_text(text)
        with log.open("ab") as output:
            self._processes[port] = subprocess.Popen(
                [str(find_server_binary()), str(config), *flags], stdout=output, stderr=output
            )


@contextmanager
def watched_servers(folder: Path) -> Generator[WatchedServers]:
    servers = WatchedServers(folder)
    try:
        servers.start()
        yield servers
    finally:
        servers.stop()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
