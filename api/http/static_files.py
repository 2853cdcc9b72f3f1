"""Files that the API itself serves to browsers, read once in a process and the same for everybody.

The names of all files except the documents contain a digest of all files. So browsers cache them without limit and
never mix two versions. They revalidate only the small documents.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fastapi import Request, Response

from api.http.problems.problem import problem

ASSETS_MARK = "{assets}"
"""Where a document names the folder of the other files."""

CONTENT_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
"""What is served; other files of a folder (licences, pages about it) are not."""


@dataclass(frozen=True, slots=True)
class StaticFile:
    """zipped: what is sent to a client that takes gzip."""

    content_type: str
    plain: bytes
    zipped: bytes
    etag: str


@dataclass(frozen=True, slots=True)
class StaticFolder:
    """documents: by name, asked for again at every visit. assets: by path below the folder, kept by browsers.

    version: changes with any of them.
    """

    version: str
    documents: dict[str, StaticFile]
    assets: dict[str, StaticFile]


def read_folder(folder: Path, documents: Iterable[str], address: str) -> StaticFolder:
    """address: relative, below which `answer_asset` serves what is no document, behind the version."""
    paths = sorted(path for path in folder.rglob("*") if path.suffix in CONTENT_TYPES)
    contents = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
    digest = hashlib.sha256()
    for name, content in contents.items():
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    version = digest.hexdigest()[:16]
    texts = {name: contents.pop(name).decode().replace(ASSETS_MARK, f"{address}/{version}") for name in documents}
    return StaticFolder(
        version,
        {name: static_file(name, text.encode()) for name, text in texts.items()},
        {name: static_file(name, content) for name, content in contents.items()},
    )


def static_file(name: str, content: bytes) -> StaticFile:
    etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    return StaticFile(CONTENT_TYPES[Path(name).suffix], content, gzip.compress(content, 9, mtime=0), etag)


def answer_document(file: StaticFile, policy: str, request: Request) -> Response:
    """policy: its `Content-Security-Policy`."""
    headers = {
        "Cache-Control": "no-cache",
        "Content-Security-Policy": policy,
        "Cross-Origin-Opener-Policy": "same-origin",
    }
    return answer_file(file, headers, request)


def answer_asset(folder: StaticFolder, version: str, name: str, request: Request) -> Response:
    """One of another version is not there any more: the document names this one's. Raises the `Problem` of that."""
    asset = folder.assets.get(name)
    if asset is None or version != folder.version:
        raise problem("not_found", "the page has no such file; reload it")
    headers = {"Cache-Control": "public, max-age=31536000, immutable"}
    return answer_file(asset, headers, request)


def answer_file(file: StaticFile, headers: dict[str, str], request: Request) -> Response:
    """With these header fields besides its own; 304 to a client that has it."""
    headers = headers | {"ETag": file.etag, "Vary": "Accept-Encoding"}
    if_none_match = request.headers.get("if-none-match", "")
    # A proxy that compresses again weakens the tag; it still names these bytes.
    if {file.etag, "*"} & {tag.strip().removeprefix("W/") for tag in if_none_match.split(",")}:
        return Response(status_code=304, headers=headers)
    if _takes_gzip(request.headers.get("accept-encoding", "")):
        headers["Content-Encoding"] = "gzip"
        return Response(file.zipped, headers=headers, media_type=file.content_type)
    return Response(file.plain, headers=headers, media_type=file.content_type)


def _takes_gzip(accept_encoding: str) -> bool:
    for part in accept_encoding.lower().split(","):
        name, _, weight = part.strip().partition(";")
        if name.strip() in {"gzip", "*"}:
            return weight.replace(" ", "") not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}
    return False
