"""Reading from a server that may send an answer so slowly that no time-out of a socket ever ends it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from storage.errors import StoreUnavailable

SLOWEST_BYTES_S = 16 * 1024
"""On average. A slower connection cannot keep up with speech."""

PIECE_BYTES = 16 * 1024
"""Read at once. A read returns when it has them all, so a slow one is noticed after so many bytes."""


def paced(read: Callable[[int], bytes], grace_s: float) -> Iterator[bytes]:
    """All there is to read, in pieces. Raises `StoreUnavailable` once `grace_s` more than the bytes may take is over.

    Only reading counts: the consumer may be slow.
    """
    num_bytes = 0
    spent_s = 0.0
    while True:
        began_s = time.monotonic()
        piece = read(PIECE_BYTES)
        spent_s += time.monotonic() - began_s
        if not piece:
            return
        num_bytes += len(piece)
        if spent_s > grace_s + num_bytes / SLOWEST_BYTES_S:
            raise StoreUnavailable(f"the store sends too slowly: {num_bytes:,} bytes in {spent_s:.0f} s")
        yield piece
