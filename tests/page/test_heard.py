"""The passages that were spoken anew since this browser played the narration."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from rhapsode import Rhapsode
from tests.page.conftest import OpenPage, arrive, until_ready
from tests.page.test_passages import done, inspect, speak_again

CHANGED = re.compile("changed since you listened")


def test_what_changed_since_it_was_played_is_listed_until_it_is_heard(open_page: OpenPage, client: Rhapsode) -> None:
    job = done(client)
    speak_again(client, job, 1)
    page = open_page(f"jobs/{job.id}")
    expect(page.locator(".segment").nth(3)).to_have_attribute("data-state", "done")
    listed = page.locator("summary", has_text=CHANGED)
    # Nothing was played yet, so nothing has changed since.
    expect(listed).to_be_hidden()
    inspect(page, 0).get_by_role("button", name="Play from here").click()
    expect(page.locator(".segment").first).to_have_class(re.compile("heard"))
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(listed).to_be_hidden()

    speak_again(client, job, 2)
    speak_again(client, job, 3)

    address = page.url
    page.goto("about:blank")
    arrive(page, address)
    until_ready(page)
    expect(listed).to_have_text("2 passages changed since you listened")
    listed.click()
    # With the panel of a passage above it open, which goes from there.
    inspect(page, 1)
    page.get_by_role("button", name=re.compile("^4: ")).click()
    note = page.get_by_role("region", name="Chosen passage")
    expect(note).to_contain_text("Passage 4")
    expect(page.locator(".segment").nth(3)).to_be_in_viewport(ratio=1)
    expect(note.get_by_role("heading", name="Passage 4")).to_be_in_viewport(ratio=1)
    note.get_by_role("button", name="Play from here").click()
    expect(listed).to_have_text("1 passage changed since you listened")
