"""What a process and its fork server say to each other.

On the control connection, from the fork server: one byte, `READY`, when everything is loaded. To it: orders, each with
four
descriptors: the file, the answer, the complaints, and the child's own channel. On a child's channel, from the fork
server: the child's status, once. To it: nothing; that the other end closes means that the child shall die.
"""

from __future__ import annotations

import json
import os
import socket
import struct
from dataclasses import dataclass

READY = b"r"

_LENGTH = struct.Struct("<I")
_STATUS = struct.Struct("<i")
_NUM_DESCRIPTORS = 4


class ConnectionEnded(Exception):
    """The other side is gone."""


@dataclass(frozen=True, slots=True)
class ChildOrder:
    """One child. The descriptors are open in the process that holds this; its receiver closes them."""

    arguments: tuple[str, ...]
    file: int
    answer: int
    complaints: int
    channel: int

    @property
    def descriptors(self) -> tuple[int, int, int, int]:
        return self.file, self.answer, self.complaints, self.channel


def send_order(control: socket.socket, order: ChildOrder) -> None:
    """Raises `ConnectionEnded`. Orders of several threads must not be mixed."""
    arguments = json.dumps(order.arguments).encode()
    try:
        # The descriptors travel with the length, whose four bytes are never divided; a longer message might be.
        socket.send_fds(control, [_LENGTH.pack(len(arguments))], order.descriptors)
        control.sendall(arguments)
    except (BrokenPipeError, ConnectionResetError) as error:
        raise ConnectionEnded from error


def receive_order(control: socket.socket) -> ChildOrder:
    """Raises `ConnectionEnded`."""
    length, descriptors, _, _ = socket.recv_fds(control, _LENGTH.size, _NUM_DESCRIPTORS)
    if len(length) != _LENGTH.size or len(descriptors) != _NUM_DESCRIPTORS:
        for descriptor in descriptors:
            os.close(descriptor)
        raise ConnectionEnded
    arguments: list[str] = json.loads(_receive(control, _LENGTH.unpack(length)[0]))
    return ChildOrder(tuple(arguments), *descriptors)


def send_status(channel: socket.socket, status: int) -> None:
    """status: as `os.waitstatus_to_exitcode` has it. Raises `ConnectionEnded` if its caller has gone."""
    try:
        channel.sendall(_STATUS.pack(status))
    except (BrokenPipeError, ConnectionResetError) as error:
        raise ConnectionEnded from error


def receive_status(channel: socket.socket) -> int:
    """Raises `TimeoutError` after the channel's own patience, or `ConnectionEnded`: the fork server died."""
    try:
        status: int = _STATUS.unpack(_receive(channel, _STATUS.size))[0]
    except ConnectionResetError as error:
        raise ConnectionEnded from error
    return status


def _receive(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise ConnectionEnded
        data += piece
    return data
