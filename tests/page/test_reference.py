"""`/docs`, from files of the wheel: as it is served, and in a browser that may ask no other host."""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from api.settings import ApiSettings
from api.system.reference import FOLDER, reference, reference_policy
from rhapsode.stack.stack import Stack
from storage.runtime.config.settings import StorageSettings
from tests.api.harness import serve
from tests.page.conftest import PATIENCE_MS
from tests.page.visits import Visit
from tests.settings import api_settings_of

VENDORED = {path.relative_to(FOLDER).as_posix(): path for path in FOLDER.glob("*/*") if path.suffix in {".js", ".css"}}
MOST_BYTES = 520_000
"""Of all files together, as they travel and as they lie in the wheel."""


@pytest.fixture
def http(storage_settings: StorageSettings) -> Iterator[httpx.Client]:
    """Not the harness' client: the page is no part of the contract that it checks."""
    settings: ApiSettings = api_settings_of(storage_settings)
    with serve(settings) as served, httpx.Client(base_url=served.url, timeout=30) as http:
        yield http


def test_the_reference_and_its_files_come_from_the_server_alone(http: httpx.Client) -> None:
    document = http.get("/docs")

    assert (document.status_code, document.headers["cache-control"]) == (200, "no-cache")
    assert http.get("/docs", headers={"If-None-Match": document.headers["etag"]}).status_code == 304
    names = re.findall(r'(?:href|src)="(reference/[^"]+)"', document.text)
    assert len(names) == len(re.findall(r"<script|<link", document.text))
    for name in names:
        asset = http.get(f"/{name}", headers={"Accept-Encoding": "gzip"})
        assert asset.status_code == 200, name
        assert "immutable" in asset.headers["cache-control"]
        assert asset.headers["content-encoding"] == "gzip"
        assert asset.headers["x-content-type-options"] == "nosniff"


def test_a_reference_runs_no_script_but_its_own(http: httpx.Client) -> None:
    policy = http.get("/docs").headers["content-security-policy"]

    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert (rules["default-src"], rules["script-src"], rules["connect-src"]) == ("'none'", "'self'", "'self'")
    assert rules["style-src"] == "'self'"
    assert "unsafe" not in policy
    assert "connect-src 'self' https://s3.example;" in reference_policy("https://s3.example")
    assert not re.search(r"<style|\son[a-z]+=|\sstyle=|<script>", (FOLDER / "docs.html").read_text())


def test_licences_and_pages_about_the_files_are_not_served(http: httpx.Client) -> None:
    version = reference().version
    for path in (
        f"/reference/{version}/README.md",
        f"/reference/{version}/docs.html",
        f"/reference/{version}/swagger-ui/LICENSE",
        f"/reference/{version}/%2e%2e/app.py",
        "/reference/0000000000000000/docs.js",
    ):
        answer = http.get(path)
        assert answer.status_code == 404, path
        assert answer.headers["content-type"] == "application/problem+json"


def test_files_of_others_are_as_their_page_says() -> None:
    said = (FOLDER / "README.md").read_text()

    assert VENDORED
    for name, path in VENDORED.items():
        assert f"| `{name}` |" in said
        assert hashlib.sha256(path.read_bytes()).hexdigest() in said, name
        assert (path.parent / "LICENSE").is_file()


def test_the_references_are_as_light_as_they_were_weighed() -> None:
    files = [*reference().documents.values(), *reference().assets.values()]

    assert sum(len(file.zipped) for file in files) < MOST_BYTES
    assert all(gzip.decompress(file.zipped) == file.plain for file in files)


@pytest.fixture
def open_reference(chromium: Browser, stack: Stack) -> Iterator[Callable[[str], Page]]:
    """When the test is over, nothing may have been thrown, refused or asked of another host."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(PATIENCE_MS)
    visits: list[Visit] = []

    def open_at(address: str) -> Page:
        page = context.new_page()
        visits.append(Visit(page, urlsplit(stack.url).netloc))
        page.goto(f"{stack.url}{address}")
        return page

    yield open_at
    context.close()
    for visit in visits:
        visit.check()


def test_an_operation_is_tried_from_the_docs(
    open_reference: Callable[[str], Page], shoot: Callable[[Page, str], None]
) -> None:
    page = open_reference("/docs")
    page.locator("#operations-models-list_models .opblock-summary-control").click()
    page.get_by_role("button", name="Try it out").click()
    page.get_by_role("button", name="Execute").click()

    expect(page.locator(".live-responses-table tbody .response-col_status")).to_contain_text("200")
    shoot(page, "docs")


def test_the_page_leads_to_the_docs(open_page: Callable[..., Page]) -> None:
    page = open_page()
    page.get_by_role("link", name="API", exact=True).click()

    expect(page).to_have_url(re.compile(r"/docs$"))
    expect(page.locator(".opblock").first).to_be_visible()
