"""`/errors` and `/errors/{code}`: what a problem's `type` leads to, made of the table of codes. They need no key."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from html import escape

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from api.http.problems.codes import BY_CODE, CODES, PAGES, RETRIES, ProblemCode, met
from api.http.problems.problem import HttpProblem, problem

router = APIRouter(include_in_schema=False)

STYLE = """\
:root{color-scheme:light dark;--ink:#17211f;--paper:#fbfaf7;--quiet:#5b6663;--line:#dcdcd3;--mark:#0b6b60}
@media(prefers-color-scheme:dark){:root{--ink:#e8ecea;--paper:#131817;--quiet:#9aa5a2;--line:#2b3533;--mark:#5cc4b4}}
body{margin:0;background:var(--paper);color:var(--ink);font:1rem/1.6 system-ui,sans-serif}
main{max-width:44rem;margin:0 auto;padding:2rem 1rem 4rem}
h1{font-size:1.5rem;line-height:1.3;margin:1.5rem 0 .5rem;overflow-wrap:anywhere}
h2{font-size:1rem;margin:1.75rem 0 .25rem}
p{margin:.25rem 0}
a{color:var(--mark)}
code{font:.95em ui-monospace,monospace}
nav,.quiet{color:var(--quiet)}
dl{margin:0}
dt{margin-top:.9rem;padding-top:.9rem;border-top:1px solid var(--line)}
dd{margin:0}
"""
POLICY = (
    f"default-src 'none'; style-src 'sha256-{base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()}'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The `Content-Security-Policy` of these pages: the style that is in them, and nothing else."""

FIELDS = {"Cache-Control": "public, max-age=3600", "Content-Security-Policy": POLICY}

_CODE = re.compile("`([^`]*)`")


@router.get(PAGES)
async def list_errors() -> HTMLResponse:
    return HTMLResponse(_list_of_pages(), headers=FIELDS)


@router.get(f"{PAGES}/{{code}}")
async def get_error(code: str) -> HTMLResponse:
    known = BY_CODE.get(code)
    if known is None:
        raise problem("not_found", "this version has no such code; /errors lists those that it has")
    return HTMLResponse(_page_of(known), headers=FIELDS)


def problem_page(found: HttpProblem) -> HTMLResponse:
    """What a browser shows for a link that does not work."""
    body = f"""\
<h1>This link does not work</h1>
<p>{_sentence(found.detail)}</p>
<p>Ask for a new link where you got this one.</p>
"""
    headers = {**found.headers, "Cache-Control": "no-store", "Vary": "Accept", "Content-Security-Policy": POLICY}
    return HTMLResponse(_document("This link does not work", body), found.status, headers)


def _page_of(code: ProblemCode) -> str:
    return _document(
        code.code,
        f"""\
<nav><a href="../errors">Errors</a> · <a href="../docs">API</a></nav>
<h1><code>{code.code}</code></h1>
<p>{_sentence(code.meaning)}</p>
<h2>What to do</h2>
<p>{_sentence(code.remedy)}</p>
<h2>Where you see it</h2>
<p>{_sentence(met(code))}</p>
""",
    )


@cache
def _list_of_pages() -> str:
    entries = "".join(
        f'<dt><a href="errors/{each.code}"><code>{each.code}</code></a></dt>\n<dd>{_sentence(each.meaning)}</dd>\n'
        for each in CODES
    )
    return _document(
        "Errors",
        f"""\
<nav><a href="./">Rhapsode</a> · <a href="docs">API</a></nav>
<h1>Errors</h1>
<p>{_sentence(RETRIES)}</p>
<dl>
{entries}</dl>
""",
    )


def _sentence(text: str) -> str:
    marked = _CODE.sub(r"<code>\1</code>", escape(text.removesuffix(".")))
    return f"{marked[0].upper()}{marked[1:]}."


def _document(title: str, body: str) -> str:
    return f"""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title} · Rhapsode</title>
<style>{STYLE}</style>
</head>
<body>
<main>
{body}</main>
</body>
</html>
"""
