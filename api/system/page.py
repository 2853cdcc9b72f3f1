"""The page at /: static files. It requests its data from `/v1`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from api.dependencies import Services
from api.http.static_files import StaticFolder, answer_asset, answer_document, read_folder
from api.services.container import ApiServices
from storage.objects.store import Download

router = APIRouter(include_in_schema=False)

FOLDER = Path(__file__).parents[1] / "page"
DOCUMENT = "index.html"

PERMISSIONS = "camera=(), geolocation=(), microphone=(self)"
"""The microphone is for recording a voice, once its owner says so to the browser."""


@cache
def page() -> StaticFolder:
    """Read once in a process."""
    return read_folder(FOLDER, [DOCUMENT], "page")


@router.get("/")
def get_document(request: Request, services: Services) -> Response:
    """The document, which is checked for a newer one at every visit."""
    policy = content_security_policy(store_origin(services))
    answer = answer_document(page().documents[DOCUMENT], policy, request)
    answer.headers["Permissions-Policy"] = PERMISSIONS
    return answer


@router.get("/live")
async def get_live() -> RedirectResponse:
    """A short address of the page's section for live speech."""
    return RedirectResponse("./#/live")


@router.get("/page/{version}/{name:path}")
async def get_asset(version: str, name: str, request: Request) -> Response:
    """A file of the page."""
    return answer_asset(page(), version, name, request)


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
