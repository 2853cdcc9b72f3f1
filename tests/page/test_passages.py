"""One passage of a narration: heard, spoken again, its takes compared, flagged; and never drawn anew under a hand."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Locator, Page, Request, Route, expect

from rhapsode import Job, Rhapsode
from tests.page.conftest import OpenPage, until_announced
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


def choose_voice(note: Locator, label: str) -> None:
    voice = note.get_by_label("Voice", exact=True)
    voice.focus()
    voice.select_option(label=label)


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
    expect(takes.first.get_by_text("In place")).to_be_visible()
    takes.last.get_by_role("button", name="Hear take 1").click()
    takes.last.get_by_role("button", name="Stop take 1").click()
    expect(takes.last.get_by_role("button", name="Hear take 1")).to_be_visible()
    expect(note.get_by_role("alert")).to_be_hidden()
    takes.last.get_by_role("button", name="Keep this one: take 1").click()
    expect(takes.last.get_by_text("In place")).to_be_visible()
    assert next(each for each in client.segments.list(job) if each.index == 2).take == 1
    page.keyboard.press("Escape")
    expect(note).to_be_hidden()


def sentences(client: Rhapsode, job: Job, segment: int) -> list[str]:
    return [each.text for each in client.segments.get(job.id, segment).sentences]


def field(page: Page) -> Locator:
    return page.get_by_role("textbox", name="What the sentence says")


def write(page: Page, segment: int, sentence: int, text: str) -> None:
    """In the text itself, in place of a sentence of the chosen passage."""
    page.locator(".segment").nth(segment).locator(".sentence").nth(sentence).click()
    field(page).fill(text)


def test_a_sentence_is_changed_in_the_text_and_nothing_jumps(
    open_page: OpenPage, client: Rhapsode, shoot: Shoot
) -> None:
    job = done(client)
    was = sentences(client, job, 2)
    page = open_page(f"jobs/{job.id}")
    note = inspect(page, 2)
    sentence = page.locator(".segment").nth(2).locator(".sentence").first
    before = sentence.bounding_box()

    sentence.click()
    expect(field(page)).to_have_text(was[0])
    after = field(page).bounding_box()
    assert before is not None
    assert after is not None
    assert abs(after["y"] - before["y"]) < 4
    field(page).fill("Here is something else.")
    shoot(page, "sentence")
    field(page).press("Enter")

    expect(page.locator(".segment").nth(2)).to_contain_text("Here is something else.")
    expect(page.locator(".segment").nth(2)).to_be_focused()
    expect(note.get_by_role("list", name="Takes").get_by_role("listitem")).to_have_count(2)
    assert sentences(client, job, 2) == ["Here is something else.", *was[1:]]
    assert client.segments.get(job.id, 2).takes == 2


def test_a_sentence_is_changed_by_keyboard_alone(open_page: OpenPage, client: Rhapsode) -> None:
    job = done(client)
    was = sentences(client, job, 1)
    page = open_page(f"jobs/{job.id}")
    page.locator(".segment").nth(1).focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Change it")).to_be_focused()
    page.keyboard.press("Enter")

    expect(field(page)).to_have_text(was[0])
    page.keyboard.press("ArrowDown")
    expect(field(page)).to_have_text(was[1])
    page.keyboard.press("Control+A")
    page.keyboard.type("By keyboard.")
    page.keyboard.press("Escape")
    expect(page.locator(".segment").nth(1)).to_be_focused()
    assert sentences(client, job, 1) == was
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Change it").press("Enter")
    page.keyboard.press("Control+A")
    page.keyboard.type("By keyboard.")
    page.get_by_role("button", name="Speak it so").press("Enter")

    expect(page.locator(".segment").nth(1)).to_contain_text("By keyboard.")
    expect(field(page)).to_have_count(0)
    assert sentences(client, job, 1) == ["By keyboard.", was[1]]


def test_a_double_click_on_change_it_deletes_nothing(open_page: OpenPage, client: Rhapsode) -> None:
    job = done(client)
    was = sentences(client, job, 2)
    page = open_page(f"jobs/{job.id}")
    change = inspect(page, 2).get_by_role("button", name="Change it")

    for share in (0.1, 0.5, 0.95):
        box = change.bounding_box()
        assert box is not None
        page.mouse.dblclick(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
        expect(field(page)).to_be_focused()
        field(page).press("Escape")
        page.locator(".segment").nth(2).press("Enter")

    assert sentences(client, job, 2) == was
    assert client.segments.get(job.id, 2).takes == 1


def test_what_was_written_is_not_lost_to_a_click_elsewhere(open_page: OpenPage, client: Rhapsode) -> None:
    job = done(client)
    page = open_page(f"jobs/{job.id}")
    inspect(page, 2)
    write(page, 2, 0, "Half a sentence")
    inspect(page, 1)
    expect(field(page)).to_have_count(0)
    inspect(page, 2)

    page.locator(".segment").nth(2).locator(".sentence").first.click()

    expect(field(page)).to_have_text("Half a sentence")


def test_a_change_is_undone(open_page: OpenPage, client: Rhapsode, shoot: Shoot) -> None:
    job = done(client)
    was = sentences(client, job, 2)
    page = open_page(f"jobs/{job.id}")
    note = inspect(page, 2)
    takes = note.get_by_role("list", name="Takes").get_by_role("listitem")
    undo = note.get_by_role("button", name="Undo the change of passage 3", exact=True)
    expect(undo).to_be_hidden()

    write(page, 2, 1, "This one goes again.")
    field(page).press("Enter")
    expect(takes).to_have_count(2)
    undo.click()
    expect(takes.last.get_by_text("In place")).to_be_visible()
    expect(undo).to_be_hidden()
    assert sentences(client, job, 2) == was

    write(page, 2, 0, "And another one.")
    field(page).press("Enter")
    expect(takes).to_have_count(3)
    shoot(page, "undo")
    page.keyboard.press("Control+z")
    expect(takes.last.get_by_text("In place")).to_be_visible()
    expect(page.locator(".told")).to_have_text(re.compile(f"^Undone: passage 3, “{was[0][:20]}"))
    assert sentences(client, job, 2) == was


def test_the_undo_of_the_page_and_of_a_field_are_apart(open_page: OpenPage, client: Rhapsode) -> None:
    job = done(client, 30)
    was = sentences(client, job, 2)
    page = open_page(f"jobs/{job.id}")
    note = inspect(page, 2)
    write(page, 2, 1, "Changed by mistake.")
    field(page).press("Enter")
    expect(note.get_by_role("list", name="Takes").get_by_role("listitem")).to_have_count(2)
    search = page.get_by_label("Search narrations")
    search.press_sequentially("boats")
    search.press("Control+z")
    expect(search).not_to_have_value("boats")
    assert sentences(client, job, 2) != was
    search.fill("boats")
    page.locator(".segment").last.focus()
    expect(page.locator(".segment").nth(2)).not_to_be_in_viewport()

    page.keyboard.press("Control+z")

    told = page.locator(".told")
    expect(told).to_contain_text("Undone: passage 3")
    expect(told).to_be_in_viewport(ratio=1)
    expect(page.locator(".segment").nth(2)).to_be_in_viewport(ratio=1)
    expect(search).to_have_value("boats")
    assert sentences(client, job, 2) == was
    page.locator(".segment").last.focus()
    page.keyboard.press("Control+Shift+Z")
    expect(told).to_contain_text("Made again: passage 3")
    expect(told).to_be_in_viewport(ratio=1)
    expect(page.locator(".segment").nth(2)).to_be_in_viewport(ratio=1)
    assert sentences(client, job, 2) != was


def test_a_change_is_undone_after_a_reload(open_page: OpenPage, client: Rhapsode) -> None:
    job = done(client)
    was = sentences(client, job, 2)
    page = open_page(f"jobs/{job.id}")
    note = inspect(page, 2)
    write(page, 2, 0, "Not meant so.")
    field(page).press("Enter")
    expect(note.get_by_role("list", name="Takes").get_by_role("listitem")).to_have_count(2)
    assert sentences(client, job, 2) != was

    page.reload()
    note = inspect(page, 0)
    undo = note.get_by_role("button", name=re.compile("Undo"))
    expect(note.get_by_role("button", name="Play from here")).to_be_visible()
    expect(undo).to_be_hidden()
    note = inspect(page, 2)
    expect(undo).to_have_text("Undo the change of passage 3")
    undo.click()

    expect(page.locator(".segment").nth(2)).to_contain_text(was[0])
    assert sentences(client, job, 2) == was
    # Nothing is left to undo, neither here nor after another reload.
    page.reload()
    note = inspect(page, 2)
    expect(note.get_by_role("button", name="Play from here")).to_be_visible()
    expect(undo).to_be_hidden()


def test_two_takes_are_heard_one_after_the_other_with_their_texts(
    open_page: OpenPage, client: Rhapsode, shoot: Shoot
) -> None:
    job = done(client)
    page = open_page(f"jobs/{job.id}")
    note = inspect(page, 2)
    was = sentences(client, job, 2)
    write(page, 2, 0, "Short.")
    field(page).press("Enter")
    takes = note.get_by_role("list", name="Takes").get_by_role("listitem")
    expect(takes).to_have_count(2)

    note.get_by_role("button", name="Play from here").click()
    note.get_by_role("button", name="Hear both").click()

    expect(note.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    expect(takes.last).to_contain_text(client.segments.get(job.id, 2).voice)
    expect(takes.last).to_have_class(re.compile("sounding"))
    # Only one thing is heard at a time.
    expect(page.locator("#player").get_by_role("button", name="Go on")).to_be_visible()
    shoot(page, "takes")
    expect(takes.first).to_have_class(re.compile("sounding"))
    expect(page.locator(".sounding")).to_have_count(0)
    expect(takes.last.locator("mark")).to_have_text(was[0])
    expect(takes.first).to_contain_text("Short.")


def test_all_that_a_speaker_says_gets_another_voice_and_back(open_page: OpenPage, client: Rhapsode) -> None:
    script = "ANNA: The ferry is late.\n\nTOM: It always is.\n\nANNA: Then we wait at the pier."
    job = client.wait(client.submit_job(script, speakers={"ANNA": "ada", "TOM": "tom"}))
    page = open_page(f"jobs/{job.id}")
    asked: list[str] = []

    def note_change(request: Request) -> None:
        if request.method != "GET":
            asked.append(request.method)

    page.on("request", note_change)
    note = inspect(page, 0)

    expect(page.get_by_role("heading", name=re.compile("^(Progress|Files|Names and speakers|Text)$"))).to_have_count(4)
    note.get_by_label("Voice of").select_option(label="all that ANNA says: 2")
    choose_voice(note, "tom")
    note.get_by_role("button", name="Speak 2 passages with this voice").click()
    undo = note.get_by_role("button", name="Undo the change of 2 passages", exact=True)
    expect(undo).to_be_visible()
    expect(note.locator(".inspector-facts")).to_contain_text("tom")
    client.wait(job)
    assert [each.voice for each in client.segments.list(job)] == ["tom", "tom", "tom"]

    undo.click()
    until_announced(page, "Undone: 2 passages")
    client.wait(job)
    assert [each.voice for each in client.segments.list(job)] == ["ada", "tom", "ada"]
    assert asked == ["PATCH", "PATCH"]


def test_another_of_the_cast_speaks_a_passage_after_the_narration(
    open_page: OpenPage, client: Rhapsode, shoot: Shoot
) -> None:
    script = "ANNA: The ferry is late.\n\nTOM: It always is.\n\nANNA: Then we wait at the pier."
    job = client.wait(client.submit_job(script, speakers={"ANNA": "ada", "TOM": "tom"}))
    page = open_page(f"jobs/{job.id}")
    note = inspect(page, 2)
    who = note.get_by_label("Spoken by")
    speak = note.get_by_role("button", name=re.compile("speaks it already|^Speak it as"))
    expect(who.locator("option")).to_have_text(["the narrator", "ANNA", "TOM"])
    expect(who.locator("option:checked")).to_have_text("ANNA")
    expect(speak).to_have_text("ANNA speaks it already")
    expect(speak).to_be_disabled()

    who.select_option(label="TOM")
    speak.click()
    expect(note.locator(".inspector-facts")).to_contain_text("tom · TOM")
    expect(speak).to_have_text("TOM speaks it already")
    expect(page.locator(".manuscript .speaker").last).to_have_text("TOM")
    expect(note.get_by_role("list", name="Takes").get_by_role("listitem")).to_have_count(2)
    client.wait(job)
    assert [(each.speaker, each.voice, each.takes) for each in client.segments.list(job)] == [
        ("ANNA", "ada", 1),
        ("TOM", "tom", 1),
        ("TOM", "tom", 2),
    ]
    shoot(page, "spoken-by")
    expect(page.locator(".job-head .state")).to_have_text("Done")
    page.get_by_role("button", name="As code").click()
    code = page.get_by_role("dialog").locator("pre").first.inner_text()
    assert re.findall(r'"speaker": "(\w+)"', code) == ["ANNA", "TOM", "TOM"]
    page.keyboard.press("Escape")

    note = inspect(page, 2)
    who.select_option(label="the narrator")
    expect(speak).to_have_text("Speak it as the narrator")
    speak.click()
    expect(speak).to_have_text("The narrator speaks it already")
    client.wait(job)
    assert [each.speaker for each in client.segments.list(job)] == ["ANNA", "TOM", ""]


def test_a_speaker_with_another_voice_keeps_it_for_a_further_passage(open_page: OpenPage, client: Rhapsode) -> None:
    given: Any = {"segments": [{"text": text, "speaker": name} for text, name in (
        ("The ferry is late.", "Anna"), ("It always is.", "Tom"), ("Then we wait.", "Anna"))]}  # fmt: skip
    job = client.wait(client.submit_job(given, voice="tom", speakers={"Anna": "ada", "Tom": "tom"}))
    client.segments.edit_all(job, [0, 2], voice="tom")
    client.wait(job)
    page = open_page(f"jobs/{job.id}")
    note = inspect(page, 1)

    note.get_by_label("Spoken by").select_option(label="Anna")
    note.get_by_role("button", name="Speak it as Anna").click()

    expect(note.locator(".inspector-facts")).to_contain_text("tom · Anna")
    client.wait(job)
    assert [each.speaker for each in client.segments.list(job)] == ["Anna (tom)"] * 3


def test_a_narration_without_a_cast_asks_for_no_speaker(open_page: OpenPage, client: Rhapsode) -> None:
    page = open_page(f"jobs/{done(client).id}")

    note = inspect(page, 1)

    expect(note.get_by_label("Voice of")).to_be_visible()
    expect(note.get_by_label("Spoken by")).to_be_hidden()


def test_a_change_that_was_undone_is_made_again(open_page: OpenPage, client: Rhapsode) -> None:
    job = done(client)
    was = sentences(client, job, 2)
    page = open_page(f"jobs/{job.id}")
    note = inspect(page, 2)
    undo, redo = (note.get_by_role("button", name=f"{verb} the change of passage 3") for verb in ("Undo", "Redo"))
    write(page, 2, 1, "This one goes again.")
    field(page).press("Enter")
    expect(note.get_by_role("list", name="Takes").get_by_role("listitem")).to_have_count(2)
    expect(redo).to_be_hidden()
    undo.click()
    expect(undo).to_be_hidden()

    page.reload()
    note = inspect(page, 2)
    redo.click()
    expect(page.locator(".told")).to_have_text(re.compile(f"^Made again: passage 3, “{was[0][:20]}"))
    expect(redo).to_be_hidden()
    assert sentences(client, job, 2) == [was[0], "This one goes again."]
    undo.click()
    expect(redo).to_be_visible()
    page.keyboard.press("Control+Shift+z")
    expect(undo).to_be_visible()
    assert sentences(client, job, 2) == [was[0], "This one goes again."]
    # After a new change, nothing is left to make again.
    undo.click()
    expect(redo).to_be_visible()
    note.get_by_role("button", name="Speak it again").click()
    expect(note.get_by_role("list", name="Takes").get_by_role("listitem")).to_have_count(3)
    expect(redo).to_be_hidden()


def test_a_sentence_that_cannot_be_spoken_is_refused_in_words(open_page: OpenPage, client: Rhapsode) -> None:
    job = done(client)
    page = open_page(f"jobs/{job.id}")
    note = inspect(page, 1)

    write(page, 1, 0, "...")
    field(page).press("Enter")

    expect(note.get_by_role("alert")).to_contain_text(re.compile("letter|word|speak"))
    expect(field(page)).to_have_text("...")
    note.get_by_role("button", name="Cancel").click()
    expect(note.locator("[role=alert]")).to_be_empty()


def test_a_sentence_and_a_passage_are_deleted_and_come_back(
    open_page: OpenPage, client: Rhapsode, shoot: Shoot
) -> None:
    job = done(client)
    was = sentences(client, job, 2)
    page = open_page(f"jobs/{job.id}")
    note = inspect(page, 2)
    passage = page.locator(".segment").nth(2)
    undo = note.get_by_role("button", name="Undo the change of passage 3")

    write(page, 2, 0, "")
    shoot(page, "deleting")
    field(page).press("Enter")
    expect(passage).to_have_text(was[1])
    expect(note.get_by_role("list", name="Takes").get_by_role("listitem")).to_have_count(2)
    assert sentences(client, job, 2) == ["", was[1]]
    note.get_by_role("button", name="Delete the passage").click()
    expect(passage).to_have_text("deleted")
    expect(note.locator(".inspector-state")).to_have_text("Deleted")
    expect(undo).to_be_visible()
    client.wait(job)
    expect(page.locator(".job-head .state")).to_have_text("Done")
    shoot(page, "deleted")
    assert (client.segments.get(job.id, 2).text, client.segments.get(job.id, 2).pause_after_s) == ("", 0.0)

    undo.click()
    expect(passage).to_have_text(was[1])
    undo.click()
    expect(passage).to_have_text(" ".join(was))
    assert sentences(client, job, 2) == was


def test_an_edited_sentence_is_read_as_words(open_page: OpenPage, client: Rhapsode) -> None:
    job = client.wait(client.submit_job("It cost 212 crowns.", language="english", normalization="basic"))
    page = open_page(f"jobs/{job.id}")
    note = inspect(page, 0)
    expect(note).to_contain_text("Spoken: It cost two hundred twelve crowns.")

    write(page, 0, 0, "It cost 312 crowns.")
    field(page).press("Enter")

    expect(note).to_contain_text("Spoken: It cost three hundred twelve crowns.")
    expect(note.locator(".takes mark")).to_have_text("two")


def test_who_presses_listen_before_the_text_is_there_hears_it(open_page: OpenPage, client: Rhapsode) -> None:
    job = done(client)
    page = open_page()
    with held(page, f"**/v1/jobs/{job.id}/segments?*"):
        page.evaluate("place => { location.hash = place; }", f"#/jobs/{job.id}")
        page.get_by_role("button", name="Listen", exact=True).click()
        expect(page.locator(".player-line")).to_have_text("Waiting for the next passage …")

    expect(page.locator(".segment.heard")).to_have_attribute("data-index", "0")
    expect(page.locator(".player-time")).not_to_have_text("0:00")


KEEP_STATES = """
window.states = [];
new MutationObserver(() => {
  const state = document.querySelector(".inspector-state")?.textContent;
  if (state && state !== window.states.at(-1)) window.states.push(state);
}).observe(document, { subtree: true, childList: true, characterData: true });
"""


def test_what_is_told_of_an_earlier_take_is_not_taken_for_the_new_one(open_page: OpenPage, client: Rhapsode) -> None:
    job = done(client)
    speak_again(client, job, 2)
    page = open_page(f"jobs/{job.id}")
    note = inspect(page, 2)
    page.evaluate(KEEP_STATES)

    note.get_by_role("button", name="Speak it again").click()
    expect(note.get_by_role("list", name="Takes").get_by_role("listitem")).to_have_count(3)
    expect(note.get_by_role("button", name="Play from here")).to_be_visible()

    states = page.evaluate("window.states")
    assert states[0] != "Spoken"
    assert states.count("Spoken") == 1, states


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
    expect(flagged).to_contain_text("(flagged)")
    page.locator("summary", has_text="Warnings: 1 flagged passage").click()
    expect(page.locator(".warnings .notice").filter(has_text="Passage 19 did not pass")).to_be_visible()
    shoot(page, "passage-flagged")
    expect(note.get_by_role("list", name="Takes").get_by_role("listitem").first).to_contain_text("flagged")
    note.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Show passage 19").click()
    expect(flagged).to_be_in_viewport()


def test_a_paragraph_gets_another_voice_from_a_menu(open_page: OpenPage, client: Rhapsode) -> None:
    job = done(client)
    page = open_page(f"jobs/{job.id}")
    note = inspect(page, 2)
    was = next(each for each in client.segments.list(job) if each.index == 2).voice
    other = {"ada": "tom", "tom": "ada"}[was]

    choose_voice(note, other)
    note.get_by_role("button", name="Speak 1 passage with this voice").click()

    expect(note.locator(".inspector-facts")).to_contain_text(other)
    client.wait(job)
    assert [each.voice for each in client.segments.list(job)] == [was, was, other, *[was] * 2]
    # The others keep the narrator's voice. The shown voice can be chosen for all.
    voice, scope = note.get_by_label("Voice", exact=True), note.get_by_label("Voice of")
    expect(voice.locator("option").first).to_contain_text(other)
    scope.select_option(label="all that the narrator says: 5")
    expect(voice.locator("option").first).to_contain_text(was)
    note.get_by_role("button", name="Speak 1 passage with this voice").click()
    expect(note.locator(".inspector-facts")).to_contain_text(was)
    client.wait(job)
    assert [each.voice for each in client.segments.list(job)] == [was] * 5


def test_an_arrow_key_chooses_a_voice_and_speaks_nothing(open_page: OpenPage, client: Rhapsode, shoot: Shoot) -> None:
    texts = ("The ferry is late.", "It always is.", "Then we wait.")
    given: Any = {"segments": [{"text": text, "speaker": "Oswin"} for text in texts]}
    job = client.wait(client.submit_job(given, speakers={"Oswin": "ada"}))
    client.segments.edit(job.id, 1, voice="tom")
    client.wait(job)
    page = open_page(f"jobs/{job.id}")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.method) if request.method != "GET" else None)
    note = inspect(page, 1)
    voice, scope = note.get_by_label("Voice", exact=True), note.get_by_label("Voice of")
    speak = note.get_by_role("button", name=re.compile("this voice"))

    expect(voice.locator("option:checked")).to_have_text("tom")
    expect(speak).to_be_disabled()
    expect(speak).to_have_text("This passage has this voice already")
    scope.focus()
    scope.press("End")
    expect(scope.locator("option:checked")).to_have_text("all that Oswin says: 3")
    expect(voice.locator("option:checked")).to_have_text("ada")
    expect(speak).to_have_text("Speak 1 passage with this voice")
    voice.focus()
    expect(voice.locator("option", has_text="tom")).to_have_count(1)
    voice.press("t")
    expect(voice.locator("option:checked")).to_have_text("tom")
    expect(speak).to_have_text("Speak 2 passages with this voice")
    voice.press("ArrowUp")
    shoot(page, "voice-of-a-speaker")
    assert sent == []
    assert [each.takes for each in client.segments.list(job)] == [1, 2, 1]


def test_why_a_passage_failed_is_read_and_heard_and_it_is_kept(
    open_page: OpenPage, client: Rhapsode, shoot: Shoot
) -> None:
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
    expect(attempts.first).to_contain_text(re.compile(r"faster than this job.s pace: \d+\.\d{3} s"))
    attempts.first.get_by_role("button", name="Hear attempt 1").click()
    expect(note.get_by_role("alert")).to_be_hidden()
    shoot(page, "attempts")
    attempts.first.get_by_role("button", name="Keep it: attempt 1").click()
    expect(note.get_by_text("Spoken, flagged")).to_be_visible()
    expect(attempts).to_have_count(0)
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".job-head .state")).to_have_text("Done")
    kept = client.segments.get(job.id, len(plain))
    assert (kept.takes, kept.flagged) == (2, True)
