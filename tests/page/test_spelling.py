"""How words are said: chosen in the text or among its names, typed, heard, said so everywhere, taken back."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Locator, Page, expect

from rhapsode import Job, Rhapsode
from rhapsode.stack.stack import Stack
from tests.page.conftest import OpenPage, until_announced
from tests.page.test_accessibility import faults
from tests.page.test_cast import LOOKS
from tests.page.test_passages import Shoot, inspect, sentences
from tests.page.texts import SENTENCES, story


def voyage(client: Rhapsode) -> Job:
    """Three passages, of which two have the name."""
    told = "At last we saw Skye in the rain.\n\nSkyeline, said somebody.\n\nThe boats of Skye are green."
    return client.wait(client.submit_job(f"{told}\n\n{story(1)}"))


def words_of(note: Locator) -> Locator:
    note.get_by_text("How a word is said").click()
    return note.locator(".words-fields")


def spoken(client: Rhapsode, job: Job) -> list[str]:
    return [" ".join(each.spoken for each in found.sentences) for found in client.segments.list(job)]


def test_a_word_is_typed_heard_and_said_so_everywhere(open_page: OpenPage, client: Rhapsode) -> None:
    job = voyage(client)
    before = spoken(client, job)
    page = open_page(f"jobs/{job.id}")
    note = inspect(page, 0)
    fields = words_of(note)
    apply = fields.get_by_role("button", name=re.compile("Say it so in"))

    fields.get_by_label("Word").fill("Sky")
    expect(apply).to_have_text("Say it so in 0 passages")
    expect(apply).to_be_disabled()
    fields.get_by_label("Word").fill("Skye")
    fields.get_by_label("Said as").fill("sky")
    expect(apply).to_have_text("Say it so in 2 passages")
    note.get_by_role("button", name="Play from here").click()
    expect(page.locator("#player").get_by_role("button", name="Pause", exact=True)).to_be_visible()
    with page.expect_request("**/v1/audio/speech") as asked:
        fields.get_by_role("button", name="Hear it in a sentence").click()
    assert json.loads(asked.value.post_data or "")["input"] == "At last we saw sky in the rain."
    # The narration does not sound at the same time.
    expect(page.locator("#player").get_by_role("button", name="Go on")).to_be_visible()
    expect(fields.get_by_role("button", name="Hear it in a sentence")).to_be_visible()
    until_announced(page, "Playing")
    expect(page.locator("#announcements")).to_be_empty()
    apply.click()

    expect(note).to_contain_text("Spoken: At last we saw sky in the rain.")
    until_announced(page, "Skye: said so in 2 passages")
    expect(fields.get_by_label("Said as")).to_have_attribute("placeholder", "now sky")
    expect(page.locator(".segment").first).to_contain_text("At last we saw Skye in the rain.")
    client.wait(job)
    assert spoken(client, job) == [
        before[0].replace("Skye", "sky"),
        before[1],
        before[2].replace("Skye", "sky"),
        *before[3:],
    ]
    note.get_by_role("button", name="Undo the change of 2 passages", exact=True).click()
    until_announced(page, "Undone: 2 passages")
    client.wait(job)
    assert spoken(client, job) == before


def test_a_name_is_picked_from_the_list_of_the_text(open_page: OpenPage, client: Rhapsode) -> None:
    page = open_page(f"jobs/{voyage(client).id}")
    page.locator("summary", has_text="Names").click()

    page.get_by_role("button", name=re.compile("^Skye · .*: how it is said")).click()

    expect(page.get_by_label("Word")).to_have_value("Skye")
    expect(page.get_by_label("Said as")).to_be_focused()


def test_a_name_behind_a_title_and_of_an_owner_is_listed(open_page: OpenPage, client: Rhapsode) -> None:
    job = client.wait(client.submit_job("We took Dr. Farquharson's boat. Mrs. Dalgleish and Dr. Farquharson rowed."))
    page = open_page(f"jobs/{job.id}")
    page.locator("summary", has_text="Names").click()

    names = page.get_by_role("button", name=re.compile(": how it is said$"))
    expect(names).to_have_text(["Farquharson · 1", "Dalgleish · 1"])


def test_a_name_has_the_number_of_its_passages(open_page: OpenPage, client: Rhapsode) -> None:
    job = client.wait(
        client.submit_job("Tobias rowed.\n\nThen Tobias and old Tobias slept.\n\n“Tobias’s oar!”\n\nTobiasson.")
    )
    page = open_page(f"jobs/{job.id}")
    page.locator("summary", has_text="Names").click()

    page.get_by_role("button", name="Tobias · 3: how it is said").click()

    expect(page.get_by_role("region", name="Chosen passage")).to_contain_text("Passage 1")
    expect(page.get_by_role("button", name="Say it so in 3 passages")).to_be_visible()


def test_the_names_follow_the_text_while_they_are_open(open_page: OpenPage, client: Rhapsode) -> None:
    job = client.wait(client.submit_job("We saw old Farquharson. He rowed."))
    page = open_page(f"jobs/{job.id}")
    page.locator("summary", has_text="Names").click()
    names = page.get_by_role("button", name=re.compile(": how it is said$"))
    expect(names).to_have_text(["Farquharson · 1"])

    client.segments.edit(job.id, 0, text="We saw old Farquharson and Tholmar.")

    expect(names).to_have_text(["Farquharson · 1", "Tholmar · 1"])


def test_words_spoken_without_their_marks_come_first_and_dates_are_no_names(
    open_page: OpenPage, client: Rhapsode
) -> None:
    told = "In March the Totengräber met Alice at The Lamp, near Ives St."
    job = client.wait(client.submit_job(told, language="english", normalization="basic"))
    page = open_page(f"jobs/{job.id}")
    page.locator("summary", has_text="Names").click()

    names = page.get_by_role("button", name=re.compile(": how it is said$"))
    expect(names).to_have_text(["Totengräber · 1", "Alice · 1", "Ives · 1"])


def test_a_respelling_is_forgotten_in_another_passage(open_page: OpenPage, client: Rhapsode) -> None:
    page = open_page(f"jobs/{voyage(client).id}")
    fields = words_of(inspect(page, 0))
    expect(fields.get_by_label("Said as")).to_have_attribute("placeholder", re.compile("such as"))
    fields.get_by_label("Word").fill("Skye")

    inspect(page, 1)

    expect(fields.get_by_label("Word")).to_have_value("")
    expect(fields.get_by_role("button", name="Say it so in 0 passages")).to_be_disabled()


SAGA = "Vashkiri rowed.\n\nHere stood Vashkiri and Tholmar.\n\nThen Alice took Vashkiri's oar."


def test_guessed_words_are_listed_heard_and_said_so_everywhere(kokoro: Stack, open_at: OpenPage, shoot: Shoot) -> None:
    with Rhapsode(kokoro.url) as client:
        job = client.wait(client.submit_job(SAGA))
        page = open_at(kokoro.url, f"jobs/{job.id}")
        asides = page.locator(".asides details", has_text="Names and speakers")
        asides.locator("summary").click()
        guessed, others = (
            asides.locator(f"p:has-text('{title}') + .choices") for title in ("guessed", "Names in the text")
        )
        expect(guessed.get_by_role("button")).to_have_text(["Vashkiri · 3", "Tholmar · 1"])
        expect(others.get_by_role("button")).to_have_text(["Alice · 1"])
        assert faults(page) == []
        shoot(page, "guessed")

        guessed.get_by_role("button", name=re.compile("^Vashkiri · .*: how it is said")).click()
        note = page.get_by_role("region", name="Chosen passage")
        expect(note).to_contain_text("Passage 1")
        with page.expect_request("**/v1/audio/speech") as asked:
            note.get_by_role("button", name="Hear it in a sentence").click()
        assert json.loads(asked.value.post_data or "")["input"] == "Vashkiri rowed."
        note.get_by_label("Said as").fill("vash keeree")
        note.get_by_role("button", name="Say it so in 3 passages").click()
        expect(note).to_contain_text("Spoken: vash keeree rowed")
        client.wait(job)
        page.reload()

        asides.locator("summary").click()
        expect(guessed.get_by_role("button")).to_have_text(["Tholmar · 1"])
        wished = asides.locator("p:has-text('Said as you wish') + .choices").get_by_role("button")
        expect(wished).to_have_text(["Vashkiri, said as vash keeree · 3"])
        wished.click()
        expect(note.get_by_label("Said as")).to_have_value("vash keeree")


def test_the_passages_of_a_speaker_are_shown_one_after_the_other(open_page: OpenPage, client: Rhapsode) -> None:
    script = f"ANNA: {SENTENCES[0]}\n\nTOM: It always is.\n\nANNA: {SENTENCES[1]}"
    job = client.wait(client.submit_job(script, voice="ada", speakers={"Anna": "ada", "Tom": "tom"}))
    said = [each.index for each in client.segments.list(job) if each.speaker.startswith("Anna")]
    page = open_page(f"jobs/{job.id}")
    page.locator("summary", has_text="Names and speakers").click()
    note = page.get_by_role("region", name="Chosen passage")

    for index in [*said, said[0]]:
        page.get_by_role("button", name=f"Anna: {len(said)} passages").click()
        expect(note).to_contain_text(f"Passage {index + 1}")

    assert len(said) == 2


def test_a_passage_alone_gets_another_voice(open_page: OpenPage, client: Rhapsode) -> None:
    script = "ANNA: The ferry is late. ANNA: We wait.\n\nTOM: It always is."
    sentence = "The harbour office is open until the last of the boats is in and all the lamps are lit."
    job = client.wait(client.submit_job(f"{' '.join([sentence] * 12)} {script}"))
    page = open_page(f"jobs/{job.id}")
    note = inspect(page, 1)
    was = client.segments.get(job.id, 1).voice
    other = {"ada": "tom", "tom": "ada"}[was]

    menu = note.get_by_label("Voice", exact=True)
    menu.focus()
    menu.select_option(label=other)
    note.get_by_role("button", name="Speak 1 passage with this voice").click()

    expect(note.locator(".inspector-facts")).to_contain_text(other)
    # The narrator's passages share a paragraph with this one.
    note.get_by_label("Voice of").select_option(index=1)
    expect(menu.locator("option:checked")).to_have_text("Several voices")
    expect(note.get_by_role("button", name="Choose a voice for these passages")).to_be_disabled()
    expect(note.get_by_role("button", name="Hear the voice")).to_be_disabled()
    assert [each.index for each in client.segments.list(job) if each.voice == other] == [1]


def test_the_total_time_stays_while_a_passage_is_spoken_again(open_page: OpenPage, client: Rhapsode) -> None:
    job = client.wait(client.submit_job(story(4)))
    page = open_page(f"jobs/{job.id}")
    note = inspect(page, 0)
    note.get_by_role("button", name="Play from here").click()
    total = page.locator(".player-total")
    expect(total).not_to_have_text("0:00")
    length = total.text_content()
    page.evaluate("""() => {
      window.totals = new Set();
      const total = document.querySelector(".player-total");
      new MutationObserver(() => window.totals.add(total.textContent)).observe(total, { childList: true });
    }""")

    inspect(page, 3).get_by_role("button", name="Speak it again").click()
    expect(note.get_by_role("list", name="Takes").get_by_role("listitem")).to_have_count(2)

    assert length is not None
    assert not [each for each in page.evaluate("[...window.totals]") if "so far" in each]


def order(page: Page) -> list[str]:
    return page.evaluate(
        "[...document.querySelectorAll('.job > .text, .job > .downloads')].map((each) => each.className)"
    )


def test_on_a_phone_the_text_comes_before_the_files(open_page: OpenPage, client: Rhapsode) -> None:
    job = voyage(client)
    page = open_page(f"jobs/{job.id}", viewport={"width": 390, "height": 844})
    expect(page.locator(".segment").first).to_be_visible()
    assert order(page) == ["text", "downloads"]
    page.set_viewport_size({"width": 1280, "height": 900})
    expect(page.locator(".downloads + .asides + .text")).to_be_visible()
    assert sentences(client, job, 0) == ["At last we saw Skye in the rain."]


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_pictures(open_page: OpenPage, client: Rhapsode, shoot: Shoot, width: int, scheme: str) -> None:
    page = open_page(f"jobs/{voyage(client).id}", viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.locator("summary", has_text="Names").click()
    expect(page.get_by_role("button", name=re.compile("^Skye · .*: how it is said"))).to_be_visible()
    shoot(page, f"names-{width}-{scheme}")
    page.get_by_role("button", name=re.compile("^Skye · .*: how it is said")).click()
    page.get_by_label("Said as").fill("sky")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert faults(page) == []
    shoot(page, f"spelling-{width}-{scheme}")
