"""`/docs`: the OpenAPI description for people, by Swagger UI from files of our own in `api/reference/`.

It asks no other host for anything, and the header says so to the browser.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from fastapi import APIRouter, Request, Response

from api.dependencies import Services
from api.http.static_files import StaticFolder, answer_asset, answer_document, read_folder
from api.system.page import store_origin

router = APIRouter(include_in_schema=False)

FOLDER = Path(__file__).parents[1] / "reference"
SWAGGER_UI = "docs.html"


@cache
def reference() -> StaticFolder:
    """Read once in a process, at the first visit: 2 MB, which take a fifth of a second to compress."""
    return read_folder(FOLDER, [SWAGGER_UI], "reference")


@router.get("/docs")
def get_docs(request: Request, services: Services) -> Response:
    """Every operation, which can be tried from there."""
    policy = reference_policy(store_origin(services))
    return answer_document(reference().documents[SWAGGER_UI], policy, request)


@router.get("/reference/{version}/{name:path}")
def get_asset(version: str, name: str, request: Request) -> Response:
    """A file of it, read in a separate thread: it may be the process's first read."""
    return answer_asset(reference(), version, name, request)


def reference_policy(store: str | None) -> str:
    """What it may load. store: another host where downloads that are tried end, if it is one.

    Swagger UI plays and saves what it was answered from `blob:` and draws its icons from `data:`.
    """
    beyond = f" {store}" if store else ""
    rules = {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self' data:",
        "connect-src": f"'self'{beyond}",
        "media-src": "blob:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())
