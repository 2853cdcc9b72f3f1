"""A new narration that was begun stays until it is ordered."""

from __future__ import annotations

import json
from typing import Any

from playwright.sync_api import Page, expect

from tests.page.conftest import OpenPage, until_ready

TEXT = "Maren was the last to reach the ferry.\n\nNobody helped her."


def begun(page: Page) -> None:
    """A text with choices, also in the folded part."""
    page.get_by_role("textbox", name="Text", exact=True).fill(TEXT)
    page.get_by_label("Title", exact=True).fill("The ferry")
    page.get_by_label("Voice", exact=True).select_option("tom")
    page.locator(".choice", has_text="MP3").click()
    page.locator("summary", has_text="More choices").click()
    page.get_by_label("Speed", exact=True).fill("0.9")
    page.get_by_label("Low", exact=True).check(force=True)
    page.get_by_label("A file for each chapter").check()
    page.get_by_label("Cast: voices").fill("JOSK = ada")
    page.get_by_label("Webhook").fill("https://example.org/?token=secret")


def leave(page: Page) -> None:
    page.get_by_role("link", name="Voices", exact=True).click()
    expect(page.get_by_role("heading", name="Voices", exact=True)).to_be_visible()


def expect_kept(page: Page) -> None:
    expect(page.get_by_role("textbox", name="Text", exact=True)).to_have_value(TEXT)
    expect(page.get_by_label("Title", exact=True)).to_have_value("The ferry")
    expect(page.get_by_label("Voice", exact=True)).to_have_value("tom")
    expect(page.get_by_label("MP3", exact=True)).to_be_checked()
    expect(page.get_by_label("WAV", exact=True)).to_be_checked()
    expect(page.get_by_label("Speed", exact=True)).to_have_value("0.9")
    expect(page.get_by_label("Low", exact=True)).to_be_checked()
    expect(page.get_by_label("A file for each chapter")).to_be_checked()
    expect(page.get_by_label("Cast: voices")).to_have_value("JOSK = ada")


def test_another_section_and_a_reload_keep_the_text_and_its_choices(open_page: OpenPage) -> None:
    page = open_page()
    begun(page)

    leave(page)
    page.get_by_role("link", name="Narrations", exact=True).click()
    expect_kept(page)

    page.reload()
    until_ready(page)
    expect_kept(page)
    assert "secret" not in page.evaluate("JSON.stringify({ ...sessionStorage, ...localStorage })")


def test_an_ordered_narration_leaves_its_voice_alone(open_page: OpenPage) -> None:
    page = open_page()
    begun(page)
    page.get_by_label("Webhook").fill("")
    with page.expect_request(lambda asked: asked.method == "POST" and asked.url.endswith("/v1/jobs")) as asked:
        page.get_by_role("button", name="Narrate", exact=True).click()
    order: Any = asked.value.post_data_json
    assert [each["type"] for each in order["output"]["formats"]] == ["wav", "mp3"]
    assert order["speakers"] == {"JOSK": "ada"}
    expect(page.get_by_role("heading", level=1, name="The ferry")).to_be_visible()

    page.get_by_role("link", name="New narration").click()
    expect(page.get_by_role("heading", name="New narration")).to_be_visible()
    for _ in range(2):
        expect(page.get_by_role("textbox", name="Text", exact=True)).to_have_value("")
        expect(page.get_by_label("Title", exact=True)).to_have_value("")
        expect(page.get_by_label("MP3", exact=True)).not_to_be_checked()
        expect(page.get_by_label("WAV", exact=True)).to_be_checked()
        expect(page.get_by_label("Voice", exact=True)).to_have_value("tom")
        page.locator("summary", has_text="More choices").click()
        expect(page.get_by_label("Speed", exact=True)).to_have_value("1")
        expect(page.get_by_label("Normal", exact=True)).to_be_checked()
        expect(page.get_by_label("Cast: voices")).to_have_value("")
        page.reload()
        until_ready(page)


def test_a_file_is_kept_between_sections_and_named_after_a_reload(open_page: OpenPage) -> None:
    page = open_page()
    page.set_input_files("#document", {"name": "fables.md", "mimeType": "text/markdown", "buffer": b"A fable."})
    for section in ("Voices", "Narrations"):
        page.get_by_role("link", name=section, exact=True).click()
    expect(page.locator(".chip", has_text="fables.md")).to_be_visible()

    page.reload()
    until_ready(page)
    expect(page.locator(".estimate")).to_have_text("The browser did not keep your file. Choose fables.md again.")


def test_a_full_store_and_a_long_text_are_no_trouble(open_page: OpenPage) -> None:
    page = open_page()
    page.get_by_role("textbox", name="Text", exact=True).fill("long " * 110_000)
    page.get_by_label("Title", exact=True).fill("Long")
    leave(page)
    kept = json.loads(page.evaluate("sessionStorage.getItem('rhapsode.draft')"))["fields"]
    assert (kept["title"], "text" in kept) == ("Long", False)

    page.evaluate("""() => {
        let length = 4_000_000;
        while (length >= 1) {
            try { sessionStorage.setItem("full" + length + Math.random(), "x".repeat(length)); } catch { length /= 2; }
        }
    }""")
    page.get_by_role("link", name="Narrations", exact=True).click()
    page.get_by_role("textbox", name="Text", exact=True).fill("The store is full now. " * 40)
    leave(page)
    assert page.evaluate("sessionStorage.getItem('rhapsode.draft')") is None
    page.evaluate("sessionStorage.clear()")
