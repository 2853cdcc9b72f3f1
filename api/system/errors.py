"""`/errors` and `/errors/{code}`: what a problem's `type` leads to. They need no key."""

from __future__ import annotations

from functools import cache

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from api.http.problems.codes import BY_CODE, PAGES
from api.http.problems.pages import POLICY, list_of_pages, page_of
from api.http.problems.problem import problem

router = APIRouter(include_in_schema=False)

FIELDS = {"Cache-Control": "public, max-age=3600", "Content-Security-Policy": POLICY}


@router.get(PAGES)
async def list_errors() -> HTMLResponse:
    return HTMLResponse(_list(), headers=FIELDS)


@router.get(f"{PAGES}/{{code}}")
async def get_error(code: str) -> HTMLResponse:
    known = BY_CODE.get(code)
    if known is None:
        raise problem("not_found", "this version has no such code; /errors lists those that it has")
    return HTMLResponse(page_of(known), headers=FIELDS)


@cache
def _list() -> str:
    return list_of_pages()
