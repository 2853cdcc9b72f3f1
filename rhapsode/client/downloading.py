"""A download over several connections, without doing I/O: where the next one begins, and whether it may go on there."""

from __future__ import annotations

from collections.abc import Callable

import httpx

from rhapsode.client.part_file import PartFile

PIECE_BYTES = 1 << 18

_PARTIAL_CONTENT, _NOT_SATISFIABLE = 206, 416

OnBytes = Callable[[int], None]
"""Called with the number of bytes. It falls when a download begins again."""


def range_headers(part: PartFile) -> dict[str, str]:
    """Asks for what is missing; for everything where nothing is there yet."""
    return {"Range": f"bytes={part.num_bytes}-"} if part.num_bytes else {}


def begin(part: PartFile, response: httpx.Response) -> bool:
    """Make the file ready for the body of this answer; False if there is none, and all has to be asked for."""
    if response.status_code == _NOT_SATISFIABLE and part.num_bytes:
        part.restart()
        return False
    if response.is_success and not continues(part, response):
        part.restart()
    return True


def continues(part: PartFile, response: httpx.Response) -> bool:
    """Whether the body goes on where the file ends, so that a broken connection costs nothing."""
    given = response.headers.get("content-range", "")
    return response.status_code == _PARTIAL_CONTENT and given.startswith(f"bytes {part.num_bytes}-")
