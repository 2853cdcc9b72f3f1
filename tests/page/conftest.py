"""A whole stack on the fake engine and a browser for the folder, a page of its own for every test."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Error, Page, Route, TimeoutError, expect, sync_playwright

from rhapsode import Rhapsode, Voice
from rhapsode.stack.options import StackOptions
from rhapsode.stack.stack import Stack
from storage.runtime.config.settings import StorageSettings
from tests.api.harness import SMALL, ServedApi, serve
from tests.environment import without_settings
from tests.page.texts import hummed
from tests.page.visits import Visit
from tests.rhapsode.conftest import clean_environment
from tests.settings import api_settings_of
from tests.tools.chromium import HOW_TO_GET, find_browser, start_browser
from tests.tools.wanted import without

PATIENCE_MS = 120_000
SHOTS = Path(__file__).resolve().parents[2] / "build" / "page"
STEP_S = "0.02"


@pytest.fixture(scope="session")
def browser_path() -> Path:
    with sync_playwright() as playwright:
        path = find_browser(playwright)
    if path is None:
        without(HOW_TO_GET)
    return path


@pytest.fixture(scope="package")
def folders_chromium(browser_path: Path) -> Iterator[Browser]:
    """Not for the session: Playwright keeps an event loop running, beside which tests of other folders have none."""
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = start_browser(playwright, browser_path)
        yield browser
        browser.close()


@pytest.fixture
def chromium(folders_chromium: Browser) -> Iterator[Browser]:
    """The folder's browser. What a test leaves open in it is closed."""
    yield folders_chromium
    for context in folders_chromium.contexts:
        leave(context)


def leave(context: BrowserContext) -> None:
    """An answer that a test's route is still making ends here, and not in the next test."""
    for page in context.pages:
        page.unroute_all(behavior="ignoreErrors")
    context.close()


@pytest.fixture(scope="package")
def stack(browser_path: Path, run_dir: Path) -> Iterator[Stack]:
    """Slow enough that a narration can be watched. Asks for the browser first: without one it is not started."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    mine = without_settings(os.environ)
    fake = {"RHAPSODE_ENGINE": "fake", "RHAPSODE_SLOTS": "4", "RHAPSODE_FAKE_STEP_S": STEP_S}
    with Stack(StackOptions(run_dir / "page"), mine | fake, lambda event: None) as stack:
        stack.wait_ready()
        yield stack


@pytest.fixture(scope="package")
def kokoro(browser_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A stack whose engine knows which words it guesses. Asks for the browser first."""
    environment = clean_environment(RHAPSODE_ENGINE="native")
    del environment["RHAPSODE_CHECKPOINT"]
    with Stack(StackOptions(tmp_path_factory.mktemp("kokoro")), environment, lambda _: None) as stack:
        stack.wait_ready()
        yield stack


@pytest.fixture
def client(stack: Stack) -> Iterator[Rhapsode]:
    with Rhapsode(stack.url) as client:
        yield client


OpenPage = Callable[..., Page]


AddVoice = Callable[..., Voice]


@pytest.fixture
def add_voice(client: Rhapsode, tmp_path: Path) -> AddVoice:
    """Upload a hummed note of its own pitch as a voice; what is equal would be prepared already."""

    def add(name: str, **more: str) -> Voice:
        file = tmp_path / "sample.wav"
        file.write_bytes(hummed())
        return client.voices.add(name, file, consent="they agree", **more)

    return add


def arrive(page: Page, address: str) -> None:
    """Not to the end: the page may load itself again. A host whose interfaces change breaks off what is on its way."""
    try:
        page.goto(address, wait_until="commit")
    except Error as error:
        if "ERR_NETWORK_CHANGED" not in error.message:
            raise
        page.goto(address, wait_until="commit")


def until_ready(page: Page) -> None:
    """Until the page works and is not about to load itself again."""
    page.wait_for_selector("html[data-ready]:not([data-reloading])", state="attached")


KEEP_ANNOUNCEMENTS = """
window.announcements = [];
new MutationObserver(() => {
  const text = document.getElementById("announcements")?.textContent;
  if (text && text !== window.announcements.at(-1)) window.announcements.push(text);
}).observe(document, { subtree: true, childList: true, characterData: true });
"""


def until_announced(page: Page, text: str) -> None:
    """Until a screen reader was given the text. The next one may have taken its place."""
    page.wait_for_function("text => window.announcements.includes(text)", arg=text)


def refused_orders(page: Page) -> list[Any]:
    """What the page sends from now on to have it narrated. Each is refused with `Not now`."""
    sent: list[Any] = []

    def keep(route: Route) -> None:
        if route.request.method != "POST":
            route.continue_()
            return
        sent.append(route.request.post_data_json)
        route.fulfill(status=422, json={"status": 422, "title": "Not now", "detail": "Not now"})

    page.route("**/v1/jobs", keep)
    return sent


@pytest.fixture
def open_at(chromium: Browser) -> Iterator[Callable[..., Page]]:
    """Open the page of a server at an address after its #, in a browser context with these options.

    script: runs before those of the page.

    When the test is over, nothing may have been thrown, refused or asked of another host.
    """
    visits: list[Visit] = []
    with ExitStack() as contexts:

        def open_page(server: str, place: str = "", script: str = "", **options: Any) -> Page:
            options.setdefault("viewport", {"width": 1280, "height": 900})
            options.setdefault("reduced_motion", "reduce")
            context = chromium.new_context(**options)
            contexts.callback(leave, context)
            context.set_default_timeout(PATIENCE_MS)
            context.add_init_script(KEEP_ANNOUNCEMENTS + script)
            page = context.new_page()
            visit = Visit(page, urlsplit(server).netloc)
            visits.append(visit)
            arrive(page, f"{server}/#/{place}")
            try:
                until_ready(page)
            except TimeoutError as error:
                raise AssertionError(f"the page did not get ready: {visit.lacks()}") from error
            return page

        yield open_page
    for visit in visits:
        visit.check()


@pytest.fixture
def open_page(stack: Stack, open_at: OpenPage) -> OpenPage:
    """As `open_at`, of the folder's stack."""

    def open_here(place: str = "", **options: Any) -> Page:
        return open_at(stack.url, place, **options)

    return open_here


@pytest.fixture
def api(chromium: Browser, storage_settings: StorageSettings) -> Iterator[ServedApi]:
    """An API in this process, whose workers are the test."""
    with serve(api_settings_of(storage_settings)) as served:
        served.models.publish(SMALL)
        yield served


@pytest.fixture
def shoot(request: pytest.FixtureRequest) -> Callable[[Page, str], None]:
    """Keep a picture of the page for people to look at."""
    SHOTS.mkdir(parents=True, exist_ok=True)

    def take(page: Page, name: str) -> None:
        page.screenshot(path=SHOTS / f"{name}.png")

    return take
