"""A decoder worker as a real process of a test."""

from __future__ import annotations

import atexit
import os
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from worker.engine.settings import DecoderAddress

TOKEN = "t" * 40
WAIT_S = 60


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@dataclass
class DecoderWorker:
    """environment: more of its settings, without RHAPSODE_. program: what Python runs, by `-m`."""

    checkpoint: Path
    environment: dict[str, str] = field(default_factory=dict)
    scheme: str = "ws"
    host: str = "127.0.0.1"
    port: int = field(default_factory=free_port)
    program: tuple[str, ...] = ("worker.decoder",)
    process: subprocess.Popen[str] | None = None

    @classmethod
    def of_this_run(cls, checkpoint: Path) -> DecoderWorker:
        """One for all tests of this process."""
        if checkpoint not in _STARTED:
            _STARTED[checkpoint] = cls(checkpoint)
            atexit.register(_STARTED[checkpoint].kill)
            _STARTED[checkpoint].start()
        return _STARTED[checkpoint]

    @property
    def device(self) -> str:
        return self.device_with(TOKEN)

    def device_with(self, token: str, kind: str = "cpu") -> str:
        return f"{self.scheme}://:{token}@{self.host}:{self.port}/{kind}"

    @property
    def address(self) -> DecoderAddress:
        return DecoderAddress.parse(self.device)

    def begin(self) -> subprocess.Popen[str]:
        """As a process that may refuse to start."""
        given = {
            "CHECKPOINT": str(self.checkpoint),
            "DECODER_DEVICE": self.device,
            "ENGINE_THREADS": "1",
            "LOG_FORMAT": "json",
            **self.environment,
        }
        others = {name: value for name, value in os.environ.items() if not name.startswith("RHAPSODE_")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", *self.program],
            env=others | {f"RHAPSODE_{name}": value for name, value in given.items()},
            stderr=subprocess.PIPE,
            text=True,
        )
        return self.process

    def start(self) -> None:
        """Until it listens."""
        process = self.begin()
        assert process.stderr is not None
        said = ""
        for line in process.stderr:
            said += line
            if "decoder ready" in line:
                return
        raise AssertionError(f"it did not start: {said}")

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.communicate(timeout=WAIT_S)

    def terminate(self) -> tuple[int, str]:
        """The status, and what it said behind its start."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        _, said = self.process.communicate(timeout=WAIT_S)
        return self.process.returncode, said


_STARTED: dict[Path, DecoderWorker] = {}
