"""A narration on the page: handed in, watched, heard, stopped, taken up again."""

from __future__ import annotations

import re
import wave
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from rhapsode import Rhapsode
from rhapsode.contract.jobs.narration import Narration
from rhapsode.stack.stack import Stack
from storage.runtime.config.settings import StorageSettings
from tests.api.harness import SMALL, serve
from tests.page.conftest import PATIENCE_MS, OpenPage, arrive, refused_orders, until_ready
from tests.page.texts import story
from tests.reading.documents.books import book, package
from tests.reading.documents.books import page as page_of
from tests.settings import api_settings_of

Shoot = Callable[[Page, str], None]

BOOK = book({"book.opf": package(["first.xhtml"]), "first.xhtml": page_of("<p>Words of a book.</p>")})


def expect_state(page: Page, state: str) -> None:
    expect(page.locator(".job-head .state")).to_have_attribute("data-state", state)


def submit(page: Page, text: str) -> None:
    page.get_by_role("textbox", name="Text", exact=True).fill(text)
    page.get_by_role("button", name="Narrate", exact=True).click()
    page.wait_for_selector(".job-title:not(:text-is('…'))")


def test_an_order_whose_first_sending_is_still_at_work_is_waited_for(open_page: OpenPage) -> None:
    page = open_page()
    sent: list[str] = []

    def in_progress_once(route: Route) -> None:
        if route.request.method != "POST":
            route.continue_()
            return
        sent.append(route.request.headers["idempotency-key"])
        if len(sent) > 1:
            route.continue_()
            return
        problem = {"status": 409, "code": "idempotency_in_progress", "title": "The key is in use", "detail": "wait"}
        route.fulfill(status=409, headers={"Retry-After": "1"}, json=problem)

    page.route("**/v1/jobs", in_progress_once)

    submit(page, "It is said once. It is heard once.")

    expect(page.get_by_role("heading", level=1, name="It is said once.")).to_be_visible()
    assert len(sent) == 2
    assert sent[0] == sent[1]


def test_a_text_is_narrated_watched_heard_and_downloaded(
    open_page: OpenPage, client: Rhapsode, shoot: Shoot, tmp_path: Path
) -> None:
    page = open_page()
    # Long enough that a busy machine pauses it before its end.
    text = story(40)
    page.get_by_role("textbox", name="Text", exact=True).fill(text)
    page.get_by_role("button", name="How long will it be?").click()
    expect(page.locator(".estimate")).to_have_text(re.compile(r"\d+ passages, about .* of speech"))

    page.get_by_role("button", name="Narrate", exact=True).click()

    expect(page.get_by_role("heading", level=1, name=text.splitlines()[0])).to_be_visible()
    expect(page.locator(".job-row").first).to_contain_text(text.splitlines()[0])
    expect(page.locator('.segment[data-state="running"]').first).to_be_visible()
    # However long listening takes here, the narration does not end before it.
    job = page.url.rpartition("/")[2]
    client.pause(job)
    shoot(page, "narration-running")
    page.get_by_role("button", name="Listen along").click()
    # It is heard before it is whole, and the passage that is heard is marked.
    expect(page.locator(".segment.heard")).to_be_visible()
    expect(page.locator(".player-time")).not_to_have_text("0:00")
    expect_state(page, "paused")
    client.resume(job)

    expect_state(page, "succeeded")
    assert page.locator('.segment:not([data-state="done"])').count() == 0
    expect(page.locator(".files a")).to_contain_text(["narration.wav"])
    with page.expect_download() as waiting:
        page.locator(".files a", has_text="narration.wav").click()
    file = tmp_path / "narration.wav"
    waiting.value.save_as(file)
    with wave.open(str(file)) as audio:
        assert audio.getnframes() > 10 * audio.getframerate()
    page.get_by_role("button", name="Close the player").click()
    expect(page.locator("#player")).to_be_hidden()
    shoot(page, "narration-done")


def test_a_narration_is_paused_resumed_cancelled_retried_and_deleted(open_page: OpenPage) -> None:
    page = open_page()
    submit(page, story(150))
    expect(page.locator('.segment[data-state="done"]').first).to_be_visible()

    page.get_by_role("button", name="Pause work").click()
    expect_state(page, "paused")
    page.get_by_role("button", name="Resume work").click()
    expect(page.get_by_role("button", name="Pause work")).to_be_visible()
    page.get_by_label("Priority").select_option("low")
    expect(page.locator(".facts")).to_contain_text("low")
    page.get_by_role("button", name="Cancel").click()
    expect_state(page, "cancelled")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect_state(page, "cancelled")
    # What was spoken before it was cancelled can be heard.
    page.get_by_role("button", name="Listen").click()
    expect(page.locator(".player-line")).not_to_be_empty()

    # A reader's own wish is no fault.
    expect(page.locator(".notice.bad")).to_have_count(0)
    page.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog", name="Delete “Story number")
    dialog.get_by_role("button", name="Keep it").click()
    expect(dialog).to_be_hidden()
    page.get_by_role("button", name="Delete").click()
    dialog.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", name="New narration")).to_be_visible()
    expect(page.locator("#player")).to_be_hidden()


@pytest.mark.parametrize(
    ("name", "content", "passage"),
    [
        ("letters.md", "# A heading\n\nSome *written* words for the reader.\n", "Some written words"),
        ("page.html", "<html><body><h1>Pages</h1><p>Words of a page.</p></body></html>", "Words of a page."),
        ("old.epub", BOOK, "Words of a book."),
    ],
    ids=["markdown", "html", "epub"],
)
def test_a_document_is_dropped_and_narrated(open_page: OpenPage, name: str, content: str | bytes, passage: str) -> None:
    page = open_page()
    data = content if isinstance(content, bytes) else content.encode()
    transfer = page.evaluate_handle(
        """([name, content]) => {
          const transfer = new DataTransfer();
          transfer.items.add(new File([Uint8Array.from(content)], name));
          return transfer;
        }""",
        [name, list(data)],
    )
    page.dispatch_event(".sheet", "drop", {"dataTransfer": transfer})
    expect(page.locator(".sheet .chip")).to_contain_text(name)

    page.get_by_role("button", name="Narrate", exact=True).click()

    expect(page.get_by_role("heading", level=1, name=name.partition(".")[0])).to_be_visible()
    expect(page.locator(".manuscript")).to_contain_text(passage)
    expect_state(page, "succeeded")


def test_a_book_is_delivered_in_chapters_and_at_another_speed(
    open_page: OpenPage, client: Rhapsode, shoot: Shoot, tmp_path: Path
) -> None:
    page = open_page()
    told = "# The Fox\n\nA fox saw some grapes.\n\n# The Crow\n\nA crow had a piece of cheese.\n"
    page.set_input_files("#document", {"name": "fables.md", "mimeType": "text/markdown", "buffer": told.encode()})
    page.locator(".choice", has_text="WAV").click()
    page.locator(".choice", has_text="MP3").click()
    page.get_by_text("More choices").click()
    page.get_by_label("A file for each chapter").check()
    page.get_by_label("Speed").fill("1.25")
    shoot(page, "delivery")

    page.get_by_role("button", name="Narrate", exact=True).click()

    expect_state(page, "succeeded")
    request = client.job(page.url.rpartition("/")[2]).request
    assert isinstance(request, Narration)
    output = request.output
    assert (output.speed, [(each.type, each.files) for each in output.formats]) == (1.25, [("mp3", "chapters")])
    expect(page.locator(".files summary").first).to_contain_text("MP3, a file for each chapter2 files")
    expect(page.locator(".files details a")).to_contain_text(["01 The Fox.mp3", "02 The Crow.mp3"])
    with page.expect_download() as waiting:
        page.locator(".files a", has_text="02 The Crow.mp3").click()
    assert waiting.value.suggested_filename == "02 The Crow.mp3"
    waiting.value.save_as(tmp_path / "crow.mp3")
    assert (tmp_path / "crow.mp3").stat().st_size > 1_000
    page.get_by_text("Details", exact=True).click()
    expect(page.locator(".facts")).to_contain_text("Speed1.25")
    shoot(page, "chapter-files")


def test_a_preset_takes_the_place_of_formats_and_loudness(open_page: OpenPage) -> None:
    page = open_page()
    page.get_by_text("More choices").click()
    page.get_by_label("Even loudness").check()
    page.get_by_label("Publisher's preset").select_option("acx")
    expect(page.get_by_text("Delivered as MP3, a file for each chapter, at the preset's loudness")).to_be_visible()
    expect(page.get_by_role("group", name="Delivered as (one or more)")).to_be_hidden()
    expect(page.get_by_label("Even loudness")).to_be_hidden()
    page.get_by_label("Subtitles (SRT and WebVTT)").check()
    page.get_by_role("textbox", name="Text", exact=True).fill("Words.")
    sent = refused_orders(page)

    page.get_by_role("button", name="Narrate", exact=True).click()

    expect(page.locator(".compose .notice.bad")).to_contain_text("Not now")
    assert sent[0]["output"] == {"preset": "acx", "subtitles": ["srt", "vtt"]}
    page.get_by_label("Publisher's preset").select_option("")
    expect(page.get_by_role("group", name="Delivered as (one or more)")).to_be_visible()


def test_what_cannot_be_narrated_is_said_where_it_was_asked(open_page: OpenPage) -> None:
    page = open_page()
    page.get_by_role("button", name="Narrate", exact=True).click()
    expect(page.get_by_role("alert").filter(has_text="Write or paste a text first.")).to_be_visible()

    page.set_input_files("#document", {"name": "photo.png", "mimeType": "image/png", "buffer": b"\x89PNG"})
    expect(page.get_by_role("alert").filter(has_text="photo.png cannot be read")).to_be_visible()

    page.get_by_role("textbox", name="Text", exact=True).fill("Words.")
    page.locator(".choice", has_text="WAV").click()
    page.get_by_role("button", name="Narrate", exact=True).click()
    # The server's own words, with the field they are about.
    expect(page.locator(".compose .notice.bad")).to_contain_text("Output › formats")


def test_a_page_without_its_server_says_so_and_goes_on_when_it_is_back(open_page: OpenPage) -> None:
    page = open_page()
    expect(page.locator(".job-list")).to_be_attached()
    page.context.set_offline(True)
    expect(page.get_by_text("The server does not answer.")).to_be_visible()
    page.context.set_offline(False)
    expect(page.get_by_text("The server does not answer.")).to_be_hidden()
    submit(page, story(2))
    expect_state(page, "succeeded")


def test_a_narration_that_is_not_there_is_said_to_be_gone(open_page: OpenPage) -> None:
    page = open_page("jobs/job_00000000000000000000000000")

    expect(page.get_by_role("heading", name="There is no such narration")).to_be_visible()


def test_a_narration_that_is_done_is_delivered_in_other_formats(open_page: OpenPage, client: Rhapsode) -> None:
    job = client.wait(client.submit_job(story(2)))
    page = open_page(f"jobs/{job.id}")
    page.get_by_role("button", name="Other formats").click()
    dialog = page.get_by_role("dialog")
    dialog.locator(".choice", has_text="FLAC").click()
    dialog.get_by_label("Subtitles").check()
    dialog.get_by_role("button", name="Make these files").click()
    expect(dialog).to_be_hidden()

    names = page.locator(".files > li > a .file-name")
    expect(names.filter(has_text=".srt")).to_have_count(1)
    expect(names.filter(has_text=".vtt")).to_have_count(1)
    expect(names.filter(has_text=".flac")).to_have_count(1)
    expect(names.filter(has_text=".wav")).to_have_count(1)
    expect_state(page, "succeeded")
    remade = client.job(job.id)
    assert job.usage is not None
    assert remade.usage is not None
    assert remade.usage.audio_s == job.usage.audio_s


def test_a_page_that_nobody_speaks_for_says_so_until_somebody_does(
    open_at: OpenPage, chromium: Browser, storage_settings: StorageSettings, shoot: Shoot
) -> None:
    with serve(api_settings_of(storage_settings)) as served:
        page = open_at(served.url)
        expect(page.get_by_text("No worker is ready yet.")).to_be_visible()
        expect(page.get_by_text("No narrations yet.")).to_be_visible()
        shoot(page, "new-nobody")

        served.models.publish(SMALL)

        expect(page.get_by_label("Voice")).to_contain_text("Alice")
        expect(page.get_by_text("No worker is ready yet.")).to_be_hidden()
        submit(page, "Words that wait.")
        expect(page.locator(".figure")).to_contain_text("No worker has its model")
        shoot(page, "narration-nobody")
        page.context.close()


def test_what_is_refused_is_said_until_something_else_is_done(open_page: OpenPage, client: Rhapsode) -> None:
    job = client.submit_job(story(60))
    page = open_page(f"jobs/{job.id}")
    refused = {"title": "Conflict", "detail": "It cannot be paused now."}
    page.route("**/pause", lambda route: route.fulfill(status=409, json=refused), times=1)

    page.get_by_role("button", name="Pause work").click()
    expect(page.get_by_role("alert").filter(has_text="It cannot be paused now.")).to_be_visible()
    with page.expect_response(f"**/v1/jobs/{job.id}"):
        pass
    expect(page.get_by_role("alert").filter(has_text="It cannot be paused now.")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()

    expect_state(page, "cancelled")
    expect(page.get_by_text("It cannot be paused now.")).to_be_hidden()


def new_page(chromium: Browser) -> Page:
    """One to which things happen that no visit may see."""
    page = chromium.new_page()
    page.set_default_timeout(PATIENCE_MS)
    return page


HAS_TRIED_BY_ITSELF = """
() => sessionStorage.getItem("rhapsode.reloads") === "3" && !document.documentElement.dataset.reloading
"""


def test_a_page_whose_scripts_do_not_come_says_so(chromium: Browser, stack: Stack) -> None:
    page = new_page(chromium)
    page.route("**/script/dom.js", lambda route: route.abort())

    arrive(page, stack.url)

    expect(page.get_by_text("Part of this page did not load.")).to_be_hidden()
    # A page that is still to load itself again would come whole, and take the link with it.
    page.wait_for_function(HAS_TRIED_BY_ITSELF)
    expect(page.get_by_text("Part of this page did not load.")).to_be_visible()
    page.unroute("**/script/dom.js")
    page.get_by_role("link", name="Load it again").click()
    expect(page.get_by_role("heading", name="New narration")).to_be_visible()
    expect(page.get_by_text("Part of this page did not load.")).to_have_count(0)
    page.close()


def test_a_network_that_changes_costs_neither_the_page_nor_what_was_pressed(chromium: Browser, stack: Stack) -> None:
    """The browser breaks off whatever is on its way."""
    page = new_page(chromium)

    def broken(address: str) -> None:
        page.route(address, lambda route: route.abort("internetdisconnected"), times=1)

    broken("**/script/wording.js")
    arrive(page, stack.url)
    until_ready(page)
    broken("**/v1/jobs")
    submit(page, story(2))
    expect_state(page, "succeeded")
    assert page.evaluate("sessionStorage.length") == 0
    page.close()


def test_an_order_says_all_that_was_filled_in(open_page: OpenPage) -> None:
    page = open_page()
    page.get_by_text("More choices").click()
    page.get_by_label("Cast").fill("ANNA = ada\n\nTOM=tom")
    page.get_by_label("Not before").fill("2030-01-02T03:04")
    page.get_by_label("Folder in the service's bucket").fill("books/42/")
    page.get_by_label("Webhook").fill("https://example.org/told")
    page.get_by_label("The text is SSML").check()
    page.get_by_role("textbox", name="Text", exact=True).fill("<speak>Words.</speak>")
    expect(page.locator(".counter")).to_contain_text("of speech")
    sent = refused_orders(page)

    page.get_by_role("button", name="Narrate", exact=True).click()

    expect(page.locator(".compose .notice.bad")).to_contain_text("Not now")
    (order,) = sent
    assert order["input"] == {"ssml": "<speak>Words.</speak>", "ssml_mode": "lenient"}
    assert order["speakers"] == {"ANNA": "ada", "TOM": "tom"}
    assert order["output"]["destination"] == {"prefix": "books/42/"}
    assert order["webhook"] == {"url": "https://example.org/told"}
    assert order["not_before"] == page.evaluate("new Date('2030-01-02T03:04').toISOString()")


def test_a_chosen_dictionary_respells_the_narration(open_page: OpenPage, client: Rhapsode) -> None:
    words = client.dictionaries.create("sailors", [{"grapheme": "bosun", "alias": "boatswain"}])
    page = open_page()
    page.get_by_text("More choices").click()
    page.get_by_label("Pronunciation dictionaries").select_option(label="sailors")
    page.get_by_role("textbox", name="Text", exact=True).fill("The bosun slept.")

    page.get_by_role("button", name="Narrate", exact=True).click()

    expect(page.get_by_role("heading", level=1, name="The bosun slept.")).to_be_visible()
    request = client.job(page.url.rpartition("/")[2]).request
    assert isinstance(request, Narration)
    assert list(request.pronunciation_dictionaries) == [f"{words.id}@1"]
    client.dictionaries.delete(words.id)


def test_who_has_narrated_nothing_hears_samples_and_narrates_with_a_click(
    open_at: OpenPage, storage_settings: StorageSettings, shoot: Shoot
) -> None:
    with serve(api_settings_of(storage_settings)) as served:
        served.models.publish(SMALL)
        page = open_at(served.url)
        welcome = page.get_by_role("region", name="Getting started")
        expect(welcome.get_by_role("button", name=re.compile("^(A story|The news|A letter)$"))).to_have_count(3)
        shoot(page, "new-first")

        welcome.get_by_role("button", name="Narrate a fable").click()

        expect(page.get_by_role("heading", level=1, name="The Crow and the Pitcher")).to_be_visible()
        page.get_by_role("link", name="New narration").click()
        expect(welcome).to_be_hidden()
        page.context.close()
