"""The page at /: static files that the API serves itself, the same for everybody. What it shows it asks of `/v1`.

Every file lies under a name that holds the digest of all of them, so that a browser keeps it for ever and never mixes
two versions; only the small document at / is asked for again.
"""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Header, Response
from fastapi.responses import RedirectResponse

from api.dependencies import Services
from api.http.problems.problem import not_found
from api.services.container import ApiServices
from storage.objects.store import Download

router = APIRouter(include_in_schema=False)

FOLDER = Path(__file__).parents[1] / "page"
DOCUMENT = "index.html"

LIVE = "./#/live"

ASSETS_MARK = "{assets}"
"""Where the document names the folder of the other files."""

CONTENT_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}

PERMISSIONS = "camera=(), geolocation=(), microphone=(self)"
"""The microphone is for recording a voice, once its owner says so to the browser."""


@dataclass(frozen=True, slots=True)
class PageFile:
    """zipped: what is sent to a client that takes gzip."""

    content_type: str
    plain: bytes
    zipped: bytes
    etag: str


@dataclass(frozen=True, slots=True)
class Page:
    """assets: by path below the folder. version: changes with any of them."""

    version: str
    document: PageFile
    assets: dict[str, PageFile]


@cache
def page() -> Page:
    """Read once in a process."""
    paths = sorted(path for path in FOLDER.rglob("*") if path.suffix in CONTENT_TYPES)
    contents = {path.relative_to(FOLDER).as_posix(): path.read_bytes() for path in paths}
    digest = hashlib.sha256()
    for name, content in contents.items():
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    version = digest.hexdigest()[:16]
    document = contents.pop(DOCUMENT).decode().replace(ASSETS_MARK, f"page/{version}")
    return Page(
        version,
        _file(DOCUMENT, document.encode()),
        {name: _file(name, content) for name, content in contents.items()},
    )


@router.head("/")
@router.get("/")
def get_document(
    services: Services,
    accept_encoding: Annotated[str, Header()] = "",
    if_none_match: Annotated[str | None, Header()] = None,
) -> Response:
    """The document, which is checked for a newer one at every visit."""
    headers = {
        "Cache-Control": "no-cache",
        "Content-Security-Policy": content_security_policy(store_origin(services)),
        "Cross-Origin-Opener-Policy": "same-origin",
        "Permissions-Policy": PERMISSIONS,
    }
    return _answer(page().document, headers, accept_encoding, if_none_match)


@router.head("/live")
@router.get("/live")
async def get_live() -> RedirectResponse:
    """Live speech is a section of the page, which has an address of its own to be told and remembered."""
    return RedirectResponse(LIVE)


@router.head("/page/{version}/{name:path}")
@router.get("/page/{version}/{name:path}")
async def get_asset(
    version: str,
    name: str,
    accept_encoding: Annotated[str, Header()] = "",
    if_none_match: Annotated[str | None, Header()] = None,
) -> Response:
    """A file of the page. One of another version is not there any more: the document names this one's."""
    asset = page().assets.get(name)
    if asset is None or version != page().version:
        raise not_found("the page has no such file; open it anew")
    headers = {"Cache-Control": "public, max-age=31536000, immutable"}
    return _answer(asset, headers, accept_encoding, if_none_match)


def content_security_policy(store: str | None) -> str:
    """What the document may load: its own files, and the store's objects where the store is another host (`store`)."""
    beyond = f" {store}" if store else ""
    rules = {
        "default-src": "'self'",
        "connect-src": f"'self'{beyond}",
        "media-src": f"'self' blob:{beyond}",
        "object-src": "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def store_origin(services: ApiServices) -> str | None:
    """Where the links of the object store lead, if not to this API itself."""
    link = urlsplit(services.artifacts.url("page", 1, Download("page", "text/plain")))
    return f"{link.scheme}://{link.netloc}" if link.netloc else None


def _file(name: str, content: bytes) -> PageFile:
    etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    return PageFile(CONTENT_TYPES[Path(name).suffix], content, gzip.compress(content, 9, mtime=0), etag)


def _answer(file: PageFile, headers: dict[str, str], accept_encoding: str, if_none_match: str | None) -> Response:
    headers |= {"ETag": file.etag, "Vary": "Accept-Encoding"}
    if if_none_match is not None and {file.etag, "*"} & {_strong(tag) for tag in if_none_match.split(",")}:
        return Response(status_code=304, headers=headers)
    if _takes_gzip(accept_encoding):
        headers["Content-Encoding"] = "gzip"
        return Response(file.zipped, headers=headers, media_type=file.content_type)
    return Response(file.plain, headers=headers, media_type=file.content_type)


def _strong(tag: str) -> str:
    """A proxy that compresses anew weakens the tag; it still names these bytes."""
    return tag.strip().removeprefix("W/")


def _takes_gzip(accept_encoding: str) -> bool:
    for part in accept_encoding.lower().split(","):
        name, _, weight = part.strip().partition(";")
        if name.strip() in {"gzip", "*"}:
            return weight.replace(" ", "") not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}
    return False
