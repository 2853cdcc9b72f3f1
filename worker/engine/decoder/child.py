"""One run of a decoder process, seen from the engine: the process and its channel."""

from __future__ import annotations

import os
import queue
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import suppress

from worker.engine.decoder.protocol import RELEASE, FromDecoder, StartDecoder, ToDecoder
from worker.process.children.channel import Channel

_START_PATIENCE_S = 120
"""Until a process has greeted: a cold disk takes long to load torch."""
_PATIENCE_S = 20
"""Without a heartbeat, before the process is killed."""
_EXIT_GRACE_S = 2.0


class DecoderChild:
    """Construct it in a thread that outlives it: on Linux the kernel kills the process when that thread ends."""

    def __init__(self, start: StartDecoder) -> None:
        self._outbox: queue.SimpleQueue[ToDecoder | None] = queue.SimpleQueue()
        stream, its_end = socket.socketpair()
        self._channel = Channel(stream)
        self._channel.set_patience(_START_PATIENCE_S)
        with its_end:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "worker.engine.decoder.process"),
                    *("--fd", str(its_end.fileno()), "--parent", str(os.getpid())),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[its_end.fileno()],
            )
        self._outbox.put(start)
        self._sender = threading.Thread(target=self._send_all, name="decoder-sender", daemon=True)
        self._sender.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, message: ToDecoder) -> None:
        """Never waits. What cannot be sent any more is forgotten: the reader sees the end as well."""
        self._outbox.put(message)

    def messages(self) -> Generator[FromDecoder]:
        """Raises `OSError` when the process ends, is silent for too long, or is of another release."""
        self._channel.meet(RELEASE)
        self._channel.set_patience(_PATIENCE_S)
        while True:
            yield self._channel.receive()  # pyright: ignore[reportReturnType]  (of the same release)

    def hang_up(self) -> None:
        """The process ends then. From any thread."""
        with suppress(OSError):
            self._channel.stream.shutdown(socket.SHUT_RDWR)

    def end(self) -> str:
        """Kill it unless it ends by itself; how it ended."""
        self.hang_up()
        try:
            status = self._process.wait(_EXIT_GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        self._outbox.put(None)
        self._sender.join()
        self._channel.close()
        return f"killed by {signal.Signals(-status).name}" if status < 0 else f"exited with status {status}"

    def _send_all(self) -> None:
        with suppress(OSError):
            while (message := self._outbox.get()) is not None:
                self._channel.send(message)
