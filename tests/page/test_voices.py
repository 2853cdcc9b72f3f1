"""Voices on the page: uploaded, recorded, prepared, heard, deleted."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import FilePayload, Locator, Page, expect

from rhapsode import Rhapsode
from rhapsode.stack.stack import Stack
from tests.api.harness import ServedApi
from tests.page.conftest import AddVoice, OpenPage
from tests.page.texts import hummed

Shoot = Callable[[Page, str], None]


def sample() -> FilePayload:
    """A recording that no other test uploads."""
    return {"name": "me.wav", "mimeType": "audio/wav", "buffer": hummed()}


def card(page: Page, name: str) -> Locator:
    return page.locator(".voice", has=page.get_by_role("heading", name=name, exact=True))


def test_a_voice_is_uploaded_prepared_heard_and_deleted(open_page: OpenPage, client: Rhapsode, shoot: Shoot) -> None:
    page = open_page("voices")
    page.get_by_label("Name").fill("Uploaded")
    page.set_input_files("#voice-file", sample())
    page.get_by_role("button", name="Add the voice").click()
    expect(page.get_by_role("alert").filter(has_text="Confirm the speaker's consent")).to_be_visible()
    page.get_by_label("The speaker agrees").check()
    page.get_by_role("button", name="Add the voice").click()

    mine = card(page, "Uploaded")
    expect(mine.locator(".badge")).to_have_attribute("data-state", "ready")
    num_jobs = len(list(client.jobs()))
    mine.get_by_role("button", name="Hear the voice: Uploaded").click()
    # It is heard, and then it is over; nothing was made that would be in the list.
    expect(mine.get_by_role("button", name="Stop: Uploaded")).to_be_visible()
    expect(mine.get_by_role("button", name="Hear the voice: Uploaded")).to_be_visible()
    expect(mine.locator(".notices")).to_be_empty()
    assert len(list(client.jobs())) == num_jobs
    mine.get_by_role("button", name="Recording of Uploaded").click()
    shoot(page, "voices")

    mine.get_by_role("button", name="Delete Uploaded").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(mine).to_have_count(0)


def test_a_voice_is_recorded_from_the_microphone(open_page: OpenPage, client: Rhapsode) -> None:
    page = open_page("voices", permissions=["microphone"])
    page.get_by_label("Name").fill("Recorded")
    page.get_by_role("button", name="Record", exact=True).click()
    expect(page.locator(".prompt")).to_be_visible()
    page.get_by_role("button", name=re.compile(r"Stop \(([2-9]|\d\d) s\)")).click()
    expect(page.locator(".recording .chip")).to_contain_text("recording")
    # It was read from the page, so its words are known.
    expect(page.locator("#ref-text")).to_have_value(re.compile("^Every morning the ferry"))
    page.locator("#ref-text").fill("")
    page.get_by_label("The speaker agrees").check()
    page.get_by_role("button", name="Add the voice").click()

    expect(card(page, "Recorded").locator(".badge")).to_have_attribute("data-state", "ready")
    stored = next(voice for voice in client.voices.list() if voice.name == "Recorded")
    assert stored.sample is not None
    assert stored.sample.media_type == "audio/webm"
    assert 1.5 < (stored.sample.duration_s or 0) < 60


def test_a_voice_is_chosen_on_its_card(open_page: OpenPage, add_voice: AddVoice) -> None:
    mine = add_voice("Chosen")
    page = open_page("voices")
    for name, value in (("tom", "tom"), ("Chosen", mine.id)):
        card(page, name).get_by_role("button", name=f"Use this voice: {name}").click()
        expect(page.get_by_role("heading", level=1, name="New narration")).to_be_focused()
        expect(page.get_by_label("Voice", exact=True)).to_have_value(str(value))
        page.get_by_role("link", name="Voices", exact=True).click()


def test_many_voices_are_prepared_at_once(open_page: OpenPage, add_voice: AddVoice) -> None:
    for number in range(5):
        add_voice(f"Choir {number}")
    page = open_page("voices")
    expect(card(page, "Choir 4").locator(".badge")).to_have_text("Not prepared")
    card(page, "Choir 4").get_by_role("checkbox").check()
    card(page, "Choir 3").get_by_role("checkbox").check()
    page.get_by_role("button", name="Prepare 2 chosen").click()
    expect(card(page, "Choir 3").locator(".badge")).to_have_attribute("data-state", "ready")

    page.get_by_role("button", name="Prepare all").click()

    expect(page.locator(".preparing-line")).to_contain_text(re.compile(r"Done: (\d+) of \1 voices prepared"))
    for number in range(5):
        expect(card(page, f"Choir {number}").locator(".badge")).to_have_attribute("data-state", "ready")


def test_a_name_that_is_taken_is_said_beside_the_form(open_page: OpenPage, add_voice: AddVoice) -> None:
    add_voice("Taken")
    page = open_page("voices")
    page.get_by_label("Name").fill("Taken")
    page.set_input_files("#voice-file", sample())
    page.get_by_label("The speaker agrees").check()
    page.get_by_role("button", name="Add the voice").click()

    expect(page.locator(".voice-form .notice")).to_contain_text("Taken")
    # What was filled in is still there.
    expect(page.get_by_label("Name")).to_have_value("Taken")


def test_a_voice_of_many_is_found_by_sex_and_accent(
    kokoro: Stack, api: ServedApi, open_at: OpenPage, shoot: Shoot
) -> None:
    page = open_at(kokoro.url)
    voice, search = page.get_by_label("Voice", exact=True), page.get_by_label("Search by name")
    expect(page.get_by_role("status").filter(has_text="28 of 28")).to_be_visible()
    first = voice.input_value()

    search.fill("British fem")
    expect(page.get_by_role("status").filter(has_text="4 of 28")).to_be_visible()
    # The chosen one stays until another is chosen.
    expect(voice).to_have_value(first)
    expect(voice.locator("option", has_text="British woman")).to_have_count(4)
    expect(voice.locator("option")).to_have_count(5)
    search.press("Enter")
    expect(voice).to_be_focused()
    voice.select_option("bf_emma")
    shoot(page, "voice-search")
    search.fill("no such voice")
    expect(voice.locator("option")).to_have_count(1)
    search.fill("")
    expect(voice.locator("option")).to_have_count(28)
    expect(voice).to_have_value("bf_emma")
    page.get_by_role("textbox", name="Text", exact=True).fill("The ferry is late.")
    page.get_by_role("button", name="Narrate", exact=True).click()
    expect(page.locator(".job-head .state")).to_have_attribute("data-state", "succeeded")
    with Rhapsode(kokoro.url) as client:
        assert [each.voice for each in client.segments.list(next(iter(client.jobs())))] == ["bf_emma"]
    # Of a few voices, a menu is enough.
    page = open_at(api.url)
    expect(page.get_by_label("Voice", exact=True)).to_contain_text("Alice")
    expect(page.get_by_label("Search by name")).to_be_hidden()
