"""The list of narrations when it is long."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from playwright.sync_api import Page, expect

from storage.runtime.config.settings import StorageSettings
from tests.api.harness import SMALL, serve
from tests.page.conftest import PATIENCE_MS, OpenPage
from tests.settings import api_settings_of

FEW = 80
MANY = 1_000

TIMED_ANSWERS = """async () => {
  const times = [];
  for (let turn = 0; turn < 20; turn += 1) {
    const begun = performance.now();
    await (await fetch("v1/jobs?limit=50")).json();
    times.push(performance.now() - begun);
  }
  return times.sort((a, b) => a - b);
}"""
"""Milliseconds, as a browser sees them."""


@contextmanager
def served_with(storage_settings: StorageSettings, count: int) -> Generator[str]:
    """The address of a server with so many narrations, all of which wait: no other test's are among them."""
    with serve(api_settings_of(storage_settings, rate_limit="100000/minute")) as served:
        served.models.publish(SMALL)
        for number in range(count):
            served.submit(f"Line {number}.", metadata={"title": f"Narration number {number}"})
        yield served.url


def scroll_to_end(page: Page, at_least: int) -> None:
    deadline = time.monotonic() + PATIENCE_MS / 1000
    while page.locator(".job-row").count() < at_least:
        assert time.monotonic() < deadline, f"{page.locator('.job-row').count()} rows"
        page.evaluate("document.querySelector('.job-list').lastElementChild.scrollIntoView()")
        page.wait_for_timeout(30)


def test_older_narrations_come_as_one_scrolls(open_at: OpenPage, storage_settings: StorageSettings) -> None:
    with served_with(storage_settings, FEW) as url:
        page = open_at(url)
        expect(page.locator(".job-row").first).to_be_visible()
        assert page.locator(".job-row").count() < FEW

        scroll_to_end(page, FEW)

        ids = page.locator(".job-row a").evaluate_all("links => links.map((link) => link.hash)")
        assert len(ids) == len(set(ids))
        assert ids == sorted(ids, reverse=True)
        page.get_by_label("Which narrations").select_option("troubled")
        expect(page.get_by_text("No such narrations.")).to_be_visible()
        page.context.close()


@pytest.mark.long
def test_a_thousand_narrations_answer_as_eighty_do_and_stay_usable(
    open_at: OpenPage, storage_settings: StorageSettings
) -> None:
    """A cost for each narration would make a thousand of them twelve times as slow."""
    few, many = (times_with(open_at, storage_settings, count) for count in (FEW, MANY))

    assert many.answer_ms < 5 * few.answer_ms
    assert many.open_s < 5 * few.open_s


@dataclass(frozen=True, slots=True)
class Times:
    """The best of several, which a busy machine disturbs least."""

    answer_ms: float
    open_s: float


def times_with(open_at: OpenPage, storage_settings: StorageSettings, count: int) -> Times:
    with served_with(storage_settings, count) as url:
        page = open_at(url)
        expect(page.locator(".job-row").first).to_be_visible()
        scroll_to_end(page, count)
        answers = page.evaluate(TIMED_ANSWERS)
        openings = [opening_s(page, count, at) for at in range(count // 2, count // 2 + 5)]
        page.context.close()
    return Times(answers[0], min(openings))


def opening_s(page: Page, count: int, at: int) -> float:
    row = page.locator(".job-row a").nth(at)
    row.scroll_into_view_if_needed()
    begun_s = time.monotonic()
    row.click()
    expect(page.get_by_role("heading", level=1, name=f"Narration number {count - 1 - at}", exact=True)).to_be_visible()
    return time.monotonic() - begun_s
