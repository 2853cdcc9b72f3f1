"""What the page costs before anything is done with it: a form for a new text, beside a list of narrations."""

from __future__ import annotations

from playwright.sync_api import Request, expect

from rhapsode import Rhapsode
from rhapsode.stack.stack import Stack
from tests.page.conftest import OpenPage, arrive
from tests.page.texts import story

MOST_REQUESTS = 25
MOST_BYTES = 90_000


def test_it_is_light(open_page: OpenPage, client: Rhapsode, stack: Stack) -> None:
    client.wait(client.submit_job(story(1)))
    page = open_page()
    page.goto("about:blank")
    # Nothing of the first visit is kept.
    page.context.new_cdp_session(page).send("Network.clearBrowserCache")
    asked: list[Request] = []
    page.on("requestfinished", lambda request: asked.append(request))

    arrive(page, f"{stack.url}/")
    expect(page.locator(".job-row").first).to_be_visible()
    expect(page.locator("#language option")).not_to_have_count(1)
    page.wait_for_load_state("networkidle")

    # Not every build of Chromium asks for the icon.
    counted = [each for each in asked if not each.url.endswith("/icon.svg")]
    costs = {each.url: each.sizes() for each in counted}
    assert len(counted) <= MOST_REQUESTS, sorted(costs)
    # Answers of the API grow with what the server has to list.
    own = [each for url, each in costs.items() if "/v1/" not in url]
    sent = sum(each["responseBodySize"] + each["responseHeadersSize"] for each in own)
    assert 20_000 < sent <= MOST_BYTES, sent


def test_what_it_does_without_comes_when_it_is_wanted(open_page: OpenPage) -> None:
    page = open_page()
    assert page.locator("#cast").count() == 0

    page.locator("summary", has_text="More choices").click()

    expect(page.locator("#cast")).to_be_visible()
