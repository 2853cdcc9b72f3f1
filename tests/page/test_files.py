"""The files of the page as they are served, without a browser."""

from __future__ import annotations

import asyncio
import gzip
import re
from collections.abc import Iterator

import httpx
import pytest

from api.services.container import open_services
from api.settings import LIMITS, ApiSettings
from api.system.page import FOLDER, content_security_policy, page, store_origin
from storage.runtime.config.settings import StorageSettings
from tests.api.harness import ServedApi, serve
from tests.settings import api_settings_of
from tests.storage.objects.embedded_s3 import EmbeddedS3
from tests.threads import BoundedExecutor

TEXTS = {path.relative_to(FOLDER).as_posix(): path.read_text() for path in FOLDER.rglob("*.*")}
MARKUP_OR_EVAL = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|localStorage"
)
KEPT_BEYOND_THE_TAB = {"script/jobs/inspector/heard.js", "script/jobs/compose/fields.js"}
"""They alone use `localStorage`: for numbers of takes and the voice used last, never for a key."""
MOST_BYTES_AT_FIRST = 90_000
"""Of the document and of all that it and its scripts ask for at once, as they travel."""
MOST_BYTES = 136_000
"""With the sections and dialogs that are asked for when somebody opens them."""
IMPORTED = re.compile(r'^(?:import|export)[^"]*from "(\.[^"]+)"', re.MULTILINE)


@pytest.fixture
def http(served: ServedApi) -> Iterator[httpx.Client]:
    """Not the harness' client: the page is no part of the contract that it checks."""
    with httpx.Client(base_url=served.url, timeout=served.http.timeout) as http:
        yield http


@pytest.fixture
def served(storage_settings: StorageSettings) -> Iterator[ServedApi]:
    with serve(api_settings_of(storage_settings)) as served:
        yield served


def test_the_document_is_checked_and_its_files_are_kept(http: httpx.Client) -> None:
    document = http.get("/")
    assert document.status_code == 200
    assert document.headers["cache-control"] == "no-cache"
    assert http.get("/", headers={"If-None-Match": document.headers["etag"]}).status_code == 304
    names = re.findall(r'(?:href|src)="(page/[^"]+)"', document.text)
    assert len(names) > 10
    for name in names:
        asset = http.get(f"/{name}", headers={"Accept-Encoding": "gzip"})
        assert asset.status_code == 200, name
        assert "immutable" in asset.headers["cache-control"]
        assert asset.headers["content-encoding"] == "gzip"
        assert asset.headers["vary"] == "Accept-Encoding"
        assert asset.headers["x-content-type-options"] == "nosniff"
        plain = http.get(f"/{name}", headers={"Accept-Encoding": "identity"})
        assert "content-encoding" not in plain.headers
        assert plain.content == asset.content
        again = http.get(f"/{name}", headers={"If-None-Match": f"W/{asset.headers['etag']}"})
        assert (again.status_code, again.content) == (304, b"")


def test_only_files_of_the_page_are_served(http: httpx.Client) -> None:
    version = page().version
    for path in (
        f"/page/{version}/../page.py",
        f"/page/{version}/%2e%2e/page.py",
        f"/page/{version}/script",
        f"/page/{version}/index.html",
        "/page/0000000000000000/script/main.js",
        f"/page/{version}/script/nothing.js",
    ):
        answer = http.get(path)
        assert answer.status_code == 404, path
        assert answer.headers["content-type"] == "application/problem+json"


def test_live_speech_has_an_address_that_leads_to_its_section(http: httpx.Client) -> None:
    answer = http.get("/live")

    assert answer.is_redirect
    # Relative: the page may lie below a path of a proxy's.
    assert answer.headers["location"] == "./#/live"


def test_the_document_may_load_its_own_files_only(http: httpx.Client) -> None:
    rules = http.get("/").headers["content-security-policy"]

    assert "default-src 'self'" in rules
    assert "unsafe" not in rules
    assert "http" not in rules
    assert "frame-ancestors 'none'" in rules


async def _origin(settings: ApiSettings) -> str | None:
    async with open_services(settings, LIMITS) as services:
        return store_origin(services)


def test_a_store_on_another_host_may_be_asked_for_its_objects(
    storage_settings: StorageSettings, weed: EmbeddedS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in weed.environment.items():
        monkeypatch.setenv(name, value)
    settings = api_settings_of(storage_settings, store="s3://bucket", s3_endpoint_url=weed.endpoint_url)

    # In a thread: where a browser is driven, this one has a loop already.
    with BoundedExecutor(1) as thread:
        origin = thread.submit(asyncio.run, _origin(settings)).result()

    assert origin == weed.endpoint_url.rstrip("/")
    assert f"connect-src 'self' {origin}" in content_security_policy(origin)


def test_no_file_asks_another_host_or_makes_markup_of_data() -> None:
    for name, text in TEXTS.items():
        code = re.sub(r"(^|\s)//[^\n]*", "", text)
        hosts = set(re.findall(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}[^\s\"'`]*", code))
        assert hosts <= {"http://www.w3.org/2000/svg"}, name
        allowed = {"localStorage"} if name in KEPT_BEYOND_THE_TAB else set[str]()
        assert set(MARKUP_OR_EVAL.findall(text)) <= allowed, name
    assert not re.search(r"<style|\son[a-z]+=|\sstyle=|<script>", TEXTS["index.html"])


def test_the_page_is_light() -> None:
    files = [*page().documents.values(), *page().assets.values()]

    assert sum(len(file.zipped) for file in files) < MOST_BYTES
    at_first = [*page().documents.values(), *(page().assets[name] for name in asked_at_first())]
    assert sum(len(file.zipped) for file in at_first) < MOST_BYTES_AT_FIRST
    assert all(gzip.decompress(file.zipped) == file.plain for file in files)


def asked_at_first() -> set[str]:
    """Names of the files that the document names, and of the modules that those import, and so on."""
    names = set(re.findall(r'(?:href|src)="\{assets\}/([^"]+)"', TEXTS["index.html"]))
    wanted = [*names]
    while wanted:
        name = wanted.pop()
        folder = (FOLDER / name).parent
        more = {(folder / each).resolve().relative_to(FOLDER).as_posix() for each in IMPORTED.findall(TEXTS[name])}
        wanted += more - names
        names |= more
    return names


def test_scripts_ask_only_for_files_that_are_there() -> None:
    for name, text in TEXTS.items():
        for target in re.findall(r"(?:from|import\()\s*\"(\.[^\"]+)\"", text):
            path = (FOLDER / name).parent / target
            assert path.resolve().is_file(), f"{name} asks for {target}"
