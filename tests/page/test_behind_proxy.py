"""The page of a server that a proxy shows below a prefix: written text, finished file and live speech."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from rhapsode.stack.options import StackOptions
from rhapsode.stack.stack import Stack
from tests.environment import without_settings
from tests.page.conftest import OpenPage
from tests.page.test_live import SECONDS
from tests.stripping_proxy import stripping_proxy


@pytest.fixture(scope="module")
def public_url(browser_path: Path, run_dir: Path) -> Iterator[str]:
    """Asks for the browser first: without one no stack is started."""
    with stripping_proxy() as proxy:
        settings = {"RHAPSODE_ENGINE": "fake", "RHAPSODE_PUBLIC_URL": proxy.url}
        mine = without_settings(os.environ) | settings
        with Stack(StackOptions(run_dir / "proxied"), mine, lambda event: None) as stack:
            proxy.upstream = stack.url
            stack.wait_ready()
            yield proxy.url


@pytest.fixture
def page(open_at: OpenPage, public_url: str) -> Page:
    return open_at(public_url)


def test_a_text_is_narrated_and_its_file_downloaded(page: Page) -> None:
    page.get_by_role("textbox", name="Text", exact=True).fill("Words behind a proxy.")
    page.get_by_role("button", name="Narrate", exact=True).click()

    expect(page.get_by_role("heading", level=1, name="Words behind a proxy.")).to_be_visible()
    with page.expect_download() as download:
        page.locator("a[href*='/tts/v1/objects/']").first.click()
    assert Path(download.value.path()).stat().st_size > 1_000


def test_live_speech_is_heard(open_at: OpenPage, public_url: str) -> None:
    page = open_at(public_url, "live")
    page.get_by_role("textbox", name="Text", exact=True).fill(
        "Words behind a proxy, spoken at once, and for some time."
    )
    page.get_by_role("button", name="Speak").click()

    expect(page.locator("#first-audio")).to_have_text(SECONDS)


def test_the_reference_describes_the_address_that_it_was_loaded_from(page: Page, public_url: str) -> None:
    page.get_by_role("link", name="API", exact=True).click()

    expect(page.locator(".servers select")).to_have_value(public_url)
