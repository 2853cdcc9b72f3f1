"""One run of a decoder process, seen from the engine: the process and its channel."""

from __future__ import annotations

import queue
import socket
import threading
from collections.abc import Callable
from contextlib import suppress

from worker.engine.decoder.protocol import RELEASE, FromDecoder, StartDecoder, ToDecoder
from worker.process.children.program import reap, start_program

_START_PATIENCE_S = 120
"""Until a process has greeted: a cold disk takes long to load torch."""
_PATIENCE_S = 20
"""Without a heartbeat, before the process is killed."""


class DecoderChild:
    """Construct it in a thread that outlives it: on Linux the kernel kills the process when that thread ends."""

    def __init__(self, start: StartDecoder) -> None:
        self._outbox: queue.SimpleQueue[ToDecoder | None] = queue.SimpleQueue()
        self._process, (self._channel,) = start_program("worker.engine.decoder.process")
        self._channel.set_patience(_START_PATIENCE_S)
        self._outbox.put(start)
        self._sender = threading.Thread(target=self._send_all, name="decoder-sender", daemon=True)
        self._sender.start()

    def __str__(self) -> str:
        return f"process {self._process.pid}"

    def send(self, message: ToDecoder) -> None:
        """Never waits. What cannot be sent any more is forgotten: the reader sees the end as well."""
        self._outbox.put(message)

    def run(self, act: Callable[[FromDecoder], None]) -> None:
        """Calls `act` with each message. Raises `OSError` when the process ends, is silent for too long, or is of
        another release.
        """
        self._channel.meet(RELEASE)
        self._channel.set_patience(_PATIENCE_S)
        while True:
            act(self._channel.receive())  # pyright: ignore[reportArgumentType]  (of the same release)

    def hang_up(self) -> None:
        """The process ends then. From any thread."""
        with suppress(OSError):
            self._channel.stream.shutdown(socket.SHUT_RDWR)

    def end(self) -> str:
        """Kill it unless it ends by itself; how it ended."""
        self.hang_up()
        how = reap(self._process)
        self._outbox.put(None)
        self._sender.join()
        self._channel.close()
        return how

    def _send_all(self) -> None:
        with suppress(OSError):
            while (message := self._outbox.get()) is not None:
                self._channel.send(message)
