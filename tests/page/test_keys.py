"""The page of a server that has keys: it asks, keeps the key in its tab, and shows only what the key may see."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from storage.runtime.config.settings import StorageSettings
from tests.api.harness import SMALL, ServedApi, serve
from tests.page.conftest import OpenPage
from tests.settings import api_settings_of

KEYS = {"tenant-key": "readers", "operator-key": "operator"}


@pytest.fixture
def locked(chromium: Browser, storage_settings: StorageSettings) -> Iterator[ServedApi]:
    digests = {hashlib.sha256(key.encode()).hexdigest(): tenant for key, tenant in KEYS.items()}
    with serve(api_settings_of(storage_settings, api_keys=digests)) as served:
        served.models.publish(SMALL)
        yield served


def test_a_key_is_asked_for_used_and_forgotten_with_the_tab(open_at: OpenPage, locked: ServedApi) -> None:
    page = open_at(locked.url)
    dialog = page.get_by_role("dialog", name="API key")
    expect(dialog).to_contain_text("Enter an API key for this server.")
    # Who closes it is not asked again until they want to be; the page goes on saying what it lacks.
    page.keyboard.press("Escape")
    expect(page.get_by_text("This server needs an API key.")).to_be_visible()
    with page.expect_response("**/v1/jobs?*"):
        pass
    expect(dialog).to_be_hidden()
    page.get_by_role("button", name="API key").click()
    dialog.get_by_label("API key").fill("not-a-key")
    dialog.get_by_role("button", name="Use this key").click()
    expect(dialog).to_contain_text("The server refused this key.")
    # It is asked for again.
    expect(dialog.get_by_label("API key")).to_have_value("not-a-key")
    dialog.get_by_label("API key").fill("tenant-key")
    dialog.get_by_role("button", name="Use this key").click()
    expect(dialog).to_be_hidden()
    expect(page.get_by_label("Voice")).to_contain_text("Alice")
    page.get_by_role("textbox", name="Text", exact=True).fill("Words behind a key.")
    page.get_by_role("button", name="Narrate", exact=True).click()
    expect(page.get_by_role("heading", level=1, name="Words behind a key.")).to_be_visible()

    page.get_by_role("link", name="Fleet").click()
    expect(page.get_by_text("Only a key with the scope admin can see the fleet.")).to_be_visible()
    # The last voice stays on this machine, the key nowhere.
    assert page.evaluate("({ ...localStorage })") == {"rhapsode.voice": "Alice"}
    assert page.evaluate("document.cookie") == ""

    page.get_by_role("button", name="API key").click()
    dialog.get_by_label("API key").fill("operator-key")
    dialog.get_by_role("button", name="Use this key").click()
    expect(page.get_by_role("heading", name="Queues")).to_be_visible()
    expect(page.get_by_text("Only a key with the scope admin")).to_be_hidden()
