# Made from rhapsode/client/aio/uploading.py by `make generated`; change that file, not this one.
"""A file on its way to the server's store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx

from rhapsode.client.answer_limits import UNCOMPRESSED
from rhapsode.client.connection import PROXY_FREE, USER_AGENT, Connection
from rhapsode.client.sync.bounding import bound_answer
from rhapsode.contract.uploads import NewUpload
from rhapsode.errors import BadAnswer

PIECE_BYTES = 256 * 1024


def send_file(connection: Connection, place: NewUpload, path: Path) -> httpx.Response:
    """Without the client's key: the link is the permission, and it may lead to another operator's server."""
    try:
        address = httpx.URL(place.url)
    except httpx.InvalidURL as error:
        raise BadAnswer(f"the server named no address for the upload, but {place.url[:100]!r}") from error
    headers, hooks = {"User-Agent": USER_AGENT} | UNCOMPRESSED, {"response": [bound_answer]}
    with httpx.Client(headers=headers, mounts=PROXY_FREE, event_hooks=hooks) as http:
        return http.put(address, content=_pieces(path), headers=place.headers, timeout=connection.timeout(0.0))


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            yield piece
