"""An answer leaves in one piece: the server writes its head, its body and its end one after the other.

Each write is a call of the operating system, and the first of them wakes a client that has the head alone to read.
"""

from __future__ import annotations

import asyncio
from typing import Any

MOST_HELD_BYTES = 64 * 1024
"""What is more is written at once: the transport then says when its client does not keep up."""


class OneWrite(asyncio.Transport):
    """The transport of a connection. What is written waits for `flush`, for the event loop's next turn at most."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self.plain = transport
        self._loop = loop
        self._held: list[bytes | bytearray | memoryview] = []
        self._held_bytes = 0
        self._is_due = False

    @property
    def waiting(self) -> list[bytes]:
        """What `flush` would hand over now."""
        return [bytes(piece) for piece in self._held]

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not data:
            return
        self._held.append(data)
        self._held_bytes += len(data)
        if self._held_bytes > MOST_HELD_BYTES:
            self.flush()
        elif not self._is_due:
            self._is_due = True
            self._loop.call_soon(self._flush_due)

    def flush(self) -> None:
        """Hand over what waits."""
        if self._held:
            held, self._held, self._held_bytes = self._held, [], 0
            self.plain.writelines(held)

    def close(self) -> None:
        self.flush()
        self.plain.close()

    def abort(self) -> None:
        self._held, self._held_bytes = [], 0
        self.plain.abort()

    def write_eof(self) -> None:
        self.flush()
        self.plain.write_eof()

    def can_write_eof(self) -> bool:
        return self.plain.can_write_eof()

    def is_closing(self) -> bool:
        return self.plain.is_closing()

    def pause_reading(self) -> None:
        self.plain.pause_reading()

    def resume_reading(self) -> None:
        self.plain.resume_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:  # noqa: ANN401 - asyncio's own
        return self.plain.get_extra_info(name, default)

    def _flush_due(self) -> None:
        self._is_due = False
        if self.plain.is_closing():
            self._held, self._held_bytes = [], 0
        self.flush()
