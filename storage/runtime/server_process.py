"""A server as a child process: started until it answers, and stopped for certain."""

from __future__ import annotations

import subprocess
from abc import ABC, abstractmethod
from typing import Self

SHUTDOWN_TIMEOUT_S = 10.0


class ServerProcess(ABC):
    """What the embedded servers share. Another supervisor may run their command instead of `start` and `stop`."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The server's process id while it runs, if `start` started it."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    @property
    def has_ended(self) -> bool:
        """Whether `start` started it and it ended by itself."""
        return self._process is not None and self._process.poll() is not None

    def start(self, timeout_s: float = 30.0) -> None:
        """Start the server and wait until it answers. Raises `StoreUnavailable`; then nothing is left running."""
        if self.pid is not None:
            raise RuntimeError("already started")
        self._process = self._launch()
        try:
            self.wait_ready(timeout_s)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Shut the server down cleanly; after ten seconds, kill it. Nothing to do if it does not run."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(SHUTDOWN_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    @abstractmethod
    def wait_ready(self, timeout_s: float = 30.0) -> None:
        """Return when the server does its work, also if another process started it. Raises `StoreUnavailable`."""

    @abstractmethod
    def _launch(self) -> subprocess.Popen[bytes]:
        """In a new session: Ctrl-C in a terminal goes to the process that stops the server last."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
