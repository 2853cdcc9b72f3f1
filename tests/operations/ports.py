"""Ports that are free at the moment."""

from __future__ import annotations

import os
import random
import socket

FIRST, LAST = 20_000, 32_000
"""Below the range that the kernel hands out itself."""

SHARE = (LAST - FIRST) // 12


def free_ports(number: int) -> range:
    """So many in a row. Processes of one run draw from shares of their own, so that no two find the same ones free."""
    process = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 12
    begin = FIRST + process * SHARE
    while True:
        first = random.randrange(begin, begin + SHARE - number)
        if all(_is_free(port) for port in range(first, first + number)):
            return range(first, first + number)


def _is_free(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) != 0
