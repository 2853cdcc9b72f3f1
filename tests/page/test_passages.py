"""One passage of a narration: heard, spoken again, its takes compared, flagged; and never drawn anew under a hand."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from contextlib import contextmanager

from playwright.sync_api import Locator, Page, Route, expect

from rhapsode import Job, Rhapsode
from tests.page.conftest import OpenPage
from tests.page.texts import story

Shoot = Callable[[Page, str], None]


def done(client: Rhapsode, paragraphs: int = 4) -> Job:
    return client.wait(client.submit_job(story(paragraphs)))


def inspect(page: Page, number: int) -> Locator:
    page.locator(".segment").nth(number).click()
    note = page.get_by_role("region", name="Chosen passage")
    expect(note).to_contain_text(f"Passage {number + 1}")
    return note


def speak_again(client: Rhapsode, job: Job, segment: int) -> None:
    """Somebody else does, over the interface; comes back when it is spoken."""
    client.segments.regenerate(job.id, segment)
    client.wait(job)


@contextmanager
def held(page: Page, address: str) -> Generator[None]:
    """Requests to this address wait until the block is left."""
    waiting: list[Route] = []
    page.route(address, lambda route: waiting.append(route))
    yield
    page.unroute(address)
    for route in waiting:
        route.continue_()


def test_one_passage_is_heard_from_there_and_spoken_again(open_page: OpenPage, client: Rhapsode, shoot: Shoot) -> None:
    job = done(client)
    page = open_page(f"jobs/{job.id}")

    note = inspect(page, 2)
    note.get_by_role("button", name="Play from here").click()
    expect(page.locator(".segment").nth(2)).to_have_class(re.compile(r"\bheard\b"))
    shoot(page, "passage")
    note.get_by_role("button", name="Speak it again").click()
    note.get_by_role("button", name="Compare 2 takes").click()
    expect(note.locator(".takes li")).to_have_count(2)
    expect(note.locator(".takes")).to_contain_text("In place")
    page.keyboard.press("Escape")
    expect(note).to_be_hidden()


def test_a_take_that_is_made_between_two_looks_at_the_narration_is_shown(open_page: OpenPage, client: Rhapsode) -> None:
    job = done(client)
    page = open_page(f"jobs/{job.id}")
    note = inspect(page, 1)

    with held(page, f"**/v1/jobs/{job.id}"):
        with page.expect_response("**/regenerate"):
            note.get_by_role("button", name="Speak it again").click()
        # The page has last seen it done, and sees it done again.
        client.wait(job)

    expect(note.get_by_role("button", name="Compare 2 takes")).to_be_visible()
    expect(note.get_by_role("button", name="Speak it again")).to_be_visible()


def test_a_button_stays_the_same_under_a_hand_while_the_passage_changes(open_page: OpenPage, client: Rhapsode) -> None:
    job = done(client)
    page = open_page(f"jobs/{job.id}")
    note = inspect(page, 0)
    close = note.get_by_role("button", name="Close")

    close.hover()
    page.mouse.down()
    speak_again(client, job, 0)
    expect(note.get_by_role("button", name="Compare 2 takes")).to_be_visible()
    page.mouse.up()

    expect(note).to_be_hidden()
