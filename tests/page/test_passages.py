"""One passage of a narration: heard, spoken again, its takes compared, flagged; and never drawn anew under a hand."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from playwright.sync_api import Locator, Page, Route, expect

from rhapsode import Job, Rhapsode
from tests.page.conftest import OpenPage
from tests.page.texts import story
from worker.speech.quality.norms_cache import UNKNOWN_AGE_S

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
    is_held = True

    def take(route: Route) -> None:
        if is_held:
            waiting.append(route)
        else:
            route.continue_()

    # It stays: a route that is taken away lets go by itself of what it holds, at a moment of its own.
    page.route(address, take)
    yield
    is_held = False
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
    # Both are there to be heard as soon as the new one is, and that comes first.
    takes = note.get_by_role("list", name="Takes").get_by_role("listitem")
    expect(takes).to_have_count(2)
    expect(takes.first).to_contain_text("Take 2")
    expect(takes.first).to_contain_text("In place")
    takes.last.get_by_role("button", name="Hear take 1").click()
    expect(note.get_by_role("alert")).to_be_hidden()
    takes.last.get_by_role("button", name="Keep this one: take 1").click()
    expect(takes.last).to_contain_text("In place")
    assert next(each for each in client.segments.list(job) if each.index == 2).take == 1
    page.keyboard.press("Escape")
    expect(note).to_be_hidden()


def test_one_sentence_is_said_otherwise(open_page: OpenPage, client: Rhapsode, shoot: Shoot) -> None:
    job = done(client)
    page = open_page(f"jobs/{job.id}")
    note = inspect(page, 2)
    first = note.get_by_role("list", name="Sentences").get_by_role("listitem").first
    was = next(each for each in client.segments.list(job) if each.index == 2).sentences

    first.get_by_role("button", name=re.compile("^Change")).click()
    field = first.get_by_role("textbox")
    expect(field).to_have_value(was[0].text)
    field.fill("Here is something else.")
    shoot(page, "sentence")
    first.get_by_role("button", name="Speak it so").click()

    expect(first).to_contain_text("Here is something else.")
    expect(page.locator(".segment").nth(2)).to_contain_text("Here is something else.")
    client.wait(job)
    now = next(each for each in client.segments.list(job) if each.index == 2)
    assert [each.text for each in now.sentences] == ["Here is something else.", *(each.text for each in was[1:])]
    assert now.takes == 2


def test_a_sentence_that_cannot_be_spoken_is_refused_in_words(open_page: OpenPage, client: Rhapsode) -> None:
    job = done(client)
    page = open_page(f"jobs/{job.id}")
    note = inspect(page, 1)
    first = note.get_by_role("list", name="Sentences").get_by_role("listitem").first

    first.get_by_role("button", name=re.compile("^Change")).click()
    first.get_by_role("textbox").fill("...")
    first.get_by_role("button", name="Speak it so").click()

    expect(note.get_by_role("alert")).to_contain_text(re.compile("letter|word|speak"))
    expect(first.get_by_role("textbox")).to_have_value("...")


def test_a_take_that_is_made_between_two_looks_at_the_narration_is_shown(open_page: OpenPage, client: Rhapsode) -> None:
    job = done(client)
    page = open_page(f"jobs/{job.id}")
    note = inspect(page, 1)

    with held(page, f"**/v1/jobs/{job.id}"):
        with page.expect_response("**/regenerate"):
            note.get_by_role("button", name="Speak it again").click()
        # The page has last seen it done, and sees it done again.
        client.wait(job)

    expect(note.get_by_role("list", name="Takes").get_by_role("listitem")).to_have_count(2)
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


def test_a_flagged_passage_is_shown_with_its_reason_and_spoken_again(
    open_page: OpenPage, client: Rhapsode, shoot: Shoot
) -> None:
    """The fake engine speaks a digit, which is a word, as fast as a letter: too fast for the other passages' pace."""
    hurried = f"The number of the safe is {' '.join(str(number) for number in range(1_000, 1_030))}."
    plain = [f"{number} boats are in the harbour and all the lamps are lit." for number in range(100, 118)]
    job = client.wait(
        client.submit_job(
            {"segments": [{"text": text} for text in (*plain, hurried)]},
            quality={"max_attempts": 1, "on_exhausted": "keep_best"},
        )
    )
    page = open_page(f"jobs/{job.id}")
    note = inspect(page, len(plain))

    # All the others are known now, whatever was when it was spoken first.
    note.get_by_role("button", name="Speak it again").click()

    expect(note.get_by_text("Spoken, flagged")).to_be_visible()
    expect(note).to_contain_text("The quality checks found: faster than the rest.")
    flagged = page.locator(".segment[data-flagged]")
    expect(flagged).to_have_count(1)
    expect(flagged).to_have_attribute("title", "spoken, flagged")
    expect(page.locator(".figures")).to_contain_text("Flagged")
    expect(page.locator(".job-row").first).to_contain_text("1 flagged")
    page.locator("summary", has_text="warning").click()
    expect(page.locator(".warnings .notice").filter(has_text="Passage 19 did not pass")).to_be_visible()
    shoot(page, "passage-flagged")
    expect(note.get_by_role("list", name="Takes").get_by_role("listitem").first).to_contain_text("flagged")


def test_a_paragraph_gets_another_voice_from_a_menu(open_page: OpenPage, client: Rhapsode) -> None:
    job = done(client)
    page = open_page(f"jobs/{job.id}")
    note = inspect(page, 2)
    was = next(each for each in client.segments.list(job) if each.index == 2).voice
    other = {"ada": "tom", "tom": "ada"}[was]

    voices = note.get_by_label("Voice of the paragraph")
    voices.focus()
    voices.select_option(label=other)

    expect(note.locator(".inspector-facts")).to_contain_text(other)
    client.wait(job)
    assert [each.voice for each in client.segments.list(job)] == [was, was, other, *[was] * 2]


def test_why_a_passage_failed_is_read_and_heard(open_page: OpenPage, client: Rhapsode) -> None:
    hurried = f"The number of the safe is {' '.join(str(number) for number in range(1_000, 1_030))}."
    plain = [f"{number} barges are in the harbour and all the lamps are lit." for number in range(100, 118)]
    job = client.wait(
        client.submit_job(
            {"segments": [{"text": text} for text in (*plain, "The last barge is far away.")]},
            quality={"max_attempts": 2, "on_exhausted": "fail"},
        )
    )
    # The worker looks again for the usual pace of the job, which is known by now.
    time.sleep(UNKNOWN_AGE_S)
    client.segments.edit(job.id, len(plain), text=hurried)
    job = client.wait(job)
    page = open_page(f"jobs/{job.id}")
    note = inspect(page, len(plain))
    attempts = note.get_by_role("list", name="Rejected attempts").get_by_role("listitem")

    expect(attempts).to_have_count(2)
    expect(attempts.first).to_contain_text(re.compile(r"it takes \d+\.\d\d s"))
    attempts.first.get_by_role("button", name="Hear attempt 1").click()
    expect(note.get_by_role("alert")).to_be_hidden()
