"""What a WebSocket may cost by the number of its frames: RFC 6455, 5.2 and 5.4.

A frame costs about the same whatever it holds, so bytes alone bound nothing. Frames that bring a message are slowed
down. Frames that bring nothing (pings, pongs, empty messages, pieces of a message) end their connection if there are
too many.
"""

from __future__ import annotations

from dataclasses import dataclass

FRAMES_A_TURN = 32
"""Of one connection, in one turn of the event loop."""

FRAMES_PER_S, FRAMES_AT_ONCE = 300.0, 1_500
TENANT_FRAMES_PER_S, TENANT_FRAMES_AT_ONCE = 1_000.0, 5_000
IDLE_FRAMES_PER_S, IDLE_FRAMES_AT_ONCE = 100.0, 500

MAX_FRAGMENTS = 256
"""Of one message."""

_FIN = 0x80
_CONTROL = 0x08
_MASKED = 0x80
_LENGTH = 0x7F
_LONG, _LONGER = 126, 127
_EXTRA_BYTES = {_LONG: 2, _LONGER: 8}
_MASK_BYTES = 4
_SHORTEST_HEAD = 2


class TooManyFrames(Exception):
    """The text is the reason that the client gets."""


@dataclass(frozen=True, slots=True)
class FrameCut:
    """num_bytes: from the start. frames: that begin in them; idle: those of them that bring no message."""

    num_bytes: int
    frames: int
    idle: int


class FrameHeads:
    """Where frames begin in the bytes of a connection, which come in any pieces."""

    __slots__ = ("_fragments", "_head", "_payload_left")

    def __init__(self) -> None:
        self._head = b""
        self._payload_left = 0
        self._fragments = 0

    def cut(self, data: bytes, most: int) -> FrameCut:
        """As much of the data as holds this many heads at most. Raises `TooManyFrames`: a message of too many pieces.

        Give what it leaves again, before what comes later.
        """
        at = frames = idle = 0
        while at < len(data):
            if self._payload_left:
                skipped = min(self._payload_left, len(data) - at)
                self._payload_left -= skipped
                at += skipped
                continue
            if frames == most:
                break
            taken = min(_missing(self._head), len(data) - at)
            self._head += data[at : at + taken]
            at += taken
            if not _missing(self._head):
                frames += 1
                idle += self._begin()
        return FrameCut(at, frames, idle)

    def _begin(self) -> bool:
        """The frame whose head is whole. Whether it brings no message."""
        first, length = self._head[0], self._head[1] & _LENGTH
        if (extra := _EXTRA_BYTES.get(length, 0)) > 0:
            length = int.from_bytes(self._head[_SHORTEST_HEAD : _SHORTEST_HEAD + extra], "big")
        self._head = b""
        self._payload_left = length
        if first & _CONTROL:
            return True
        if first & _FIN:
            is_empty = length == 0 and self._fragments == 0
            self._fragments = 0
            return is_empty
        self._fragments += 1
        if self._fragments > MAX_FRAGMENTS:
            raise TooManyFrames(f"a message has at most {MAX_FRAGMENTS} frames")
        return True


def _missing(head: bytes) -> int:
    """How many bytes complete this head, or the first two bytes of it, which tell its length."""
    if len(head) < _SHORTEST_HEAD:
        return _SHORTEST_HEAD - len(head)
    mask_bytes = _MASK_BYTES if head[1] & _MASKED else 0
    return _SHORTEST_HEAD + _EXTRA_BYTES.get(head[1] & _LENGTH, 0) + mask_bytes - len(head)
