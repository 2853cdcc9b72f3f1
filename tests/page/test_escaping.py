"""Names, titles and texts are data: whatever stands in them is shown and never run."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from rhapsode import InvalidRequest, Rhapsode
from rhapsode.client.request_options import SegmentEntryFields
from tests.api.harness import ServedApi
from tests.page.conftest import AddVoice, OpenPage
from tests.page.test_fleet import give_up

HOSTILE = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>\"'>{{7*7}}${7*7}"

MARKUP = "&lt;img src=x onerror=document.title='taken'&gt;"
NAME = "<img src=x onerror=document.title='taken'> \u05e9\u05dc\u05d5\u05dd"
MARKED = f"{NAME} \u202eolleh"
"""Behind it stands a right-to-left override: what follows in the same line would be written backwards."""

OPEN_OVERRIDES = """() => {
  const open = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const holder = walk.currentNode.parentElement;
    const { display, unicodeBidi } = getComputedStyle(holder);
    const isOpen = display === "inline" && !/isolate|plaintext/.test(unicodeBidi);
    if (walk.currentNode.data.includes("\\u202e") && isOpen) open.push(holder.outerHTML);
  }
  return open;
}"""


def expect_unharmed(page: Page) -> None:
    assert page.title() != "taken"
    assert page.locator("main img, main script, main iframe").count() == 0
    assert page.evaluate(OPEN_OVERRIDES) == []


def test_hostile_titles_texts_and_voice_names_are_shown_as_they_are(
    open_page: OpenPage, client: Rhapsode, add_voice: AddVoice
) -> None:
    voice = add_voice(HOSTILE[:90], description=HOSTILE)
    job = client.wait(
        client.submit_job(f"{HOSTILE} And a word.", voice=voice.id, metadata={"title": HOSTILE, "a<b>": HOSTILE})
    )

    page = open_page(f"jobs/{job.id}")
    expect(page.get_by_role("heading", level=1, name=HOSTILE)).to_be_visible()
    expect(page.locator(".job-row").first).to_contain_text(HOSTILE)
    expect(page.locator(".manuscript")).to_contain_text("<img src=x")
    page.locator(".segment").first.click()
    page.get_by_role("button", name="Play from here").click()
    expect(page.locator(".player-title")).to_have_text(HOSTILE)
    page.locator("summary", has_text="Details").click()
    expect(page.locator(".facts")).to_contain_text(HOSTILE)
    expect_unharmed(page)

    page.get_by_role("link", name="Voices", exact=True).click()
    expect(page.get_by_role("heading", name=HOSTILE[:90])).to_be_visible()
    expect(page.locator(".voice-description")).to_contain_text(HOSTILE)
    expect_unharmed(page)

    page.get_by_role("link", name="Narrations").click()
    page.set_input_files("#document", {"name": "<b onmouseover=1>.txt", "mimeType": "text/plain", "buffer": b"Words."})
    expect(page.locator(".sheet .chip-name")).to_have_text("<b onmouseover=1>.txt")
    expect_unharmed(page)


def test_marked_words_of_every_kind_are_text_and_turn_nothing_round(
    open_page: OpenPage, client: Rhapsode, add_voice: AddVoice
) -> None:
    with pytest.raises(InvalidRequest, match="RIGHT-TO-LEFT OVERRIDE"):
        add_voice(MARKED)
    voice = add_voice(NAME)
    dictionary = client.dictionaries.create(NAME, [{"grapheme": "lantern", "alias": "light <img src=x>"}])
    metadata = {"title": NAME, "of the <b>": NAME}
    submitted = client.submit_job(
        "A lantern.", voice=voice.id, metadata=metadata, pronunciation_dictionaries=[dictionary.id]
    )
    job = client.wait(submitted)

    page = open_page(f"jobs/{job.id}")
    expect(page.locator("h1.job-title")).to_have_text(NAME)
    expect(page.locator(".job-row").first).to_contain_text(NAME)
    page.locator(".segment").first.click()
    expect(page.get_by_role("region", name="Chosen passage")).to_contain_text("light <img src=x>")
    page.locator("summary", has_text="Details").click()
    expect(page.locator(".facts")).to_contain_text(NAME)
    expect_unharmed(page)

    page.get_by_role("link", name="Voices", exact=True).click()
    expect(page.get_by_role("heading", name=NAME)).to_be_visible()
    expect_unharmed(page)

    page.get_by_role("link", name="Narrations").click()
    page.locator("summary", has_text="More choices").click()
    expect(page.locator("#dictionaries option", has_text=NAME)).to_have_count(1)
    expect_unharmed(page)


def test_names_of_speakers_and_chapters_are_text(open_page: OpenPage, client: Rhapsode) -> None:
    lines: list[SegmentEntryFields] = [{"text": "Who is there?", "speaker": NAME}, {"text": "Only the cat."}]
    cast = client.wait(client.submit_job({"segments": lines}, speakers={NAME: "tom"}, voice="ada"))

    page = open_page(f"jobs/{cast.id}")
    expect(page.locator(".manuscript .speaker").first).to_have_text(NAME)
    page.locator(".segment").first.click()
    expect(page.get_by_role("region", name="Chosen passage")).to_contain_text(NAME)
    expect_unharmed(page)

    page.get_by_role("link", name="Narrations").click()
    book = "\n\n".join(f"# {name} {MARKUP}\n\nThe door was open." for name in ("One", "Two"))
    page.set_input_files("#document", {"name": "a.md", "mimeType": "text/markdown", "buffer": book.encode()})
    page.get_by_role("button", name="Narrate", exact=True).click()
    expect(page.locator(".job-head .state")).to_have_attribute("data-state", "succeeded")
    rail = page.get_by_role("navigation", name="Chapters")
    expect(rail.get_by_role("button", name="Two")).to_contain_text("<img src=x onerror=")
    expect_unharmed(page)


def test_the_detail_of_a_failure_is_text(open_at: OpenPage, api: ServedApi) -> None:
    page = open_at(api.url, f"jobs/{give_up(api, MARKED)}")

    expect(page.get_by_role("alert").filter(has_text=MARKED)).to_be_visible()
    expect_unharmed(page)
    page.goto(f"{api.url}/#/fleet")
    expect(page.get_by_role("region", name="Failed items").get_by_role("listitem")).to_contain_text(MARKED)
    expect_unharmed(page)


def test_a_hostile_address_leads_to_the_narrations(open_page: OpenPage) -> None:
    page = open_page("<img src=x onerror=alert(1)>/constructor/__proto__")

    expect(page.get_by_role("heading", name="New narration")).to_be_visible()
    expect_unharmed(page)
