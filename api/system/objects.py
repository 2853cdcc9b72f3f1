"""The local store's objects behind its signed links, with ranges. Absent where the store is S3, which has its own."""

from __future__ import annotations

import re
import time
from collections.abc import Generator
from contextlib import contextmanager
from tempfile import SpooledTemporaryFile
from typing import IO

from anyio.to_thread import run_sync
from fastapi import APIRouter, Request, Response
from starlette.responses import FileResponse
from starlette.types import Receive, Scope, Send

from api.dependencies import Services
from api.http.problems.problem import invalid_header, malformed, problem, range_not_satisfiable
from storage.errors import ArtifactExists, ArtifactMissing
from storage.objects.local_store import PIECE_BYTES, LinkRefused, LocalArtifactStore, SignedObject
from storage.objects.store import ArtifactStore

router = APIRouter(prefix="/v1/objects", tags=["artifacts"])

_SPEC = r"([0-9]{1,18}-[0-9]{0,18}|-[0-9]{1,18})"
SPOOL_BYTES = 1024 * 1024
"""An upload that is longer waits on disk until it is whole."""

WHOLE_BYTES = 1024 * 1024
"""The thread that finds a shorter object reads it at once and sends it in one piece. A change of thread costs more than
reading a hundred kilobytes.
"""

MOST_WHOLE_BYTES = 64 * 1024 * 1024
"""Of whole objects that are on their way at the same time: a client that reads nothing holds what is sent to it."""

_RANGES = re.compile(rf"bytes=\s*{_SPEC}(\s*,\s*{_SPEC})*\s*", re.IGNORECASE)
_RANGE = re.compile(r"(?<![0-9])([0-9]+)-([0-9]*)|-([0-9]+)")


class Room:
    """What may be in memory at the same time; for the event loop."""

    def __init__(self, most_bytes: int) -> None:
        self._left_bytes = most_bytes

    def take(self, num_bytes: int) -> bool:
        if num_bytes > self._left_bytes:
            return False
        self._left_bytes -= num_bytes
        return True

    def give_back(self, num_bytes: int) -> None:
        self._left_bytes += num_bytes


_room = Room(MOST_WHOLE_BYTES)

_KEPT = {
    "Cache-Control": "private, max-age=900, immutable",
    "Vary": "Accept",
    "X-Content-Type-Options": "nosniff",
}
_PLAYED = _KEPT | {
    # A link that works no more must say so.
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; media-src 'self'; frame-ancestors 'none'",
}


class ObjectResponse(FileResponse):
    """As its base; a small object that is asked for as a whole is in `found` already, and is not opened again."""

    def __init__(self, found: SignedObject, *, plays: bool) -> None:
        """plays: a browser shows it as a page, which asks for the same address again."""
        super().__init__(
            found.path,
            headers=_PLAYED if plays else _KEPT,
            media_type=found.content_type,
            filename=found.filename,
            content_disposition_type="inline" if plays else "attachment",
            stat_result=found.status,
        )
        self._content = found.content

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        content, self._content = self._content, None
        if content is None or not _room.take(len(content)):
            await super().__call__(scope, receive, send)
            return
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            await send({"type": "http.response.body", "body": content, "more_body": True})
            # The server waits here until most of it has gone.
            await send({"type": "http.response.body"})
        finally:
            _room.give_back(len(content))


@router.head("/{key:path}", include_in_schema=False)
@router.get("/{key:path}", response_class=FileResponse)
def get_object(request: Request, services: Services, key: str) -> FileResponse:
    """The link itself is the permission; its signature covers the key, the file name, the type and the end."""
    ranges = _byte_ranges(request)
    is_whole = request.method == "GET" and ranges is None
    with _signed(services.artifacts) as store:
        found = store.verify(key, dict(request.query_params), time.time(), WHOLE_BYTES if is_whole else -1)
    _check_range(ranges, found.status.st_size)
    is_opened = "text/html" in request.headers.get("accept", "")
    return ObjectResponse(found, plays=is_opened and (found.content_type or "").startswith("audio/"))


@router.put("/{key:path}", status_code=201, response_class=Response)
async def put_object(request: Request, services: Services, key: str) -> Response:
    """Store a file under the link that `/v1/uploads` gave out; the link itself is the permission."""
    with _signed(services.artifacts) as store:
        num_bytes = store.verify_upload(key, dict(request.query_params), time.time())
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise problem("unsupported_media", "the body must not be compressed")
    with SpooledTemporaryFile(max_size=SPOOL_BYTES) as file:
        received = 0
        async for piece in request.stream():
            received += len(piece)
            if received > num_bytes:
                break
            await run_sync(file.write, piece)
        if received != num_bytes:
            raise malformed(f"the link is for a file of {num_bytes:,} bytes, and the body has another length")
        file.seek(0)
        await run_sync(_store, services.artifacts, key, file)
    return Response(status_code=201)


def _store(artifacts: ArtifactStore, key: str, file: IO[bytes]) -> None:
    try:
        artifacts.put_stream(key, iter(lambda: file.read(PIECE_BYTES), b""))
    except ArtifactExists:
        raise problem("state_conflict", "a file was stored under this link already") from None


@contextmanager
def _signed(store: object) -> Generator[LocalArtifactStore]:
    """The store that verifies links. Raises the `HttpProblem` of a link that leads nowhere."""
    if not isinstance(store, LocalArtifactStore):
        raise problem("not_found", "objects are served by the object store")
    try:
        yield store
    except LinkRefused as error:
        raise problem("forbidden", str(error)) from error
    except ArtifactMissing as error:
        raise problem("not_found", "the file was deleted or made again") from error


def _byte_ranges(request: Request) -> str | None:
    """The Range header. One in another unit has to be ignored (RFC 9110), so FileResponse must not see it."""
    header = request.headers.get("range")
    if header is None or header.lower().startswith("bytes"):
        return header
    request.scope["headers"] = [(name, value) for name, value in request.scope["headers"] if name != b"range"]
    return None


def _check_range(header: str | None, size: int) -> None:
    """FileResponse answers a bad range in plain text; ours are problems, so it must not see one."""
    if header is None:
        return
    if not _RANGES.fullmatch(header):
        raise invalid_header("Range", "invalid_range", "is not a list of byte ranges")
    for start, end, suffix in _RANGE.findall(header):
        if end and int(start) > int(end):
            raise invalid_header("Range", "invalid_range", "ends before it begins")
        if size == 0 or (int(suffix) == 0 if suffix else int(start) >= size):
            raise range_not_satisfiable(size)
