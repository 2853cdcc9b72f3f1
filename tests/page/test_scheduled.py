"""What the page says of a narration that waits for its time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from playwright.sync_api import expect

from storage.runtime.config.settings import StorageSettings
from tests.api.harness import SMALL, serve
from tests.page.conftest import OpenPage
from tests.settings import api_settings_of


def test_a_narration_that_waits_for_its_time_says_when_it_begins(
    open_at: OpenPage, storage_settings: StorageSettings
) -> None:
    begins_at = datetime.now(UTC) + timedelta(days=2)
    with serve(api_settings_of(storage_settings, rate_limit="100000/minute")) as served:
        served.models.publish(SMALL)
        served.submit("Good morning.", metadata={"title": "At night"}, not_before=begins_at.isoformat())

        page = open_at(served.url)
        row = page.locator(".job-row", has_text="At night")
        expect(row).to_contain_text("Scheduled")
        row.locator("a").click()

        expect(page.locator(".figure")).to_contain_text("Begins on")
