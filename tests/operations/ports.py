"""Ports that nobody has at the moment."""

from __future__ import annotations

import random
import socket


def free_ports(number: int) -> range:
    """So many in a row, below the range that the kernel hands out itself."""
    while True:
        first = random.randrange(20_000, 32_000 - number)
        if all(_is_free(port) for port in range(first, first + number)):
            return range(first, first + number)


def _is_free(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) != 0
