"""Who speaks in a novel: found, checked and heard on the page, and narrated with that cast."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

import pytest
from playwright.sync_api import FilePayload, Locator, Page, Route, expect

from rhapsode import Rhapsode
from rhapsode.contract.jobs.narration import Narration
from tests.page.conftest import OpenPage, refused_orders, until_ready
from tests.page.test_accessibility import MISNAMED, NARROW, expect_headings_in_order, faults
from tests.page.test_escaping import HOSTILE, expect_unharmed

Shoot = Callable[[Page, str], None]

STORY = """"Has the post come?" asked Mr. Harding.

"It has," said Eleanor, "and there is a bill <img src=x onerror=alert(1)>."

"Then I shall go back to my bees," said Mr. Harding.

The door was open. "Who is there?"

"Only the cat," said Eleanor.
"""
LOOKS = [(width, scheme) for width in (390, 1280) for scheme in ("light", "dark")]


def find(page: Page, text: str) -> Locator:
    """The region that shows who speaks in a text."""
    page.get_by_role("textbox", name="Text", exact=True).fill(text)
    page.get_by_role("button", name="Find who speaks").click()
    studio = page.get_by_role("region", name="Who speaks")
    expect(studio).to_be_visible()
    return studio


def choose(menu: Locator, label: str) -> None:
    menu.focus()
    menu.select_option(label=label)


def line(studio: Locator, words: str) -> Locator:
    return (
        studio.get_by_role("list", name="Lines", exact=True)
        .get_by_role("listitem")
        .filter(has=studio.page.locator("mark", has_text=words))
    )


def person(studio: Locator, name: str) -> Locator:
    return (
        studio.get_by_role("list", name="Characters")
        .get_by_role("listitem")
        .filter(has=studio.page.locator("strong", has_text=name))
    )


def test_who_speaks_is_found_checked_heard_and_narrated(open_page: OpenPage, client: Rhapsode, shoot: Shoot) -> None:
    page = open_page()
    studio = find(page, STORY)
    expect(studio.get_by_role("status")).to_contain_text(re.compile(r"6 lines of 2 characters\. Check \d uncertain"))
    expect(person(studio, "Mr. Harding")).to_contain_text("male")
    expect(line(studio, "Who is there?")).to_contain_text("The door was open.")
    expect_unharmed(page)

    choose(line(studio, "Who is there?").get_by_role("combobox"), "Eleanor")
    expect(person(studio, "Eleanor")).to_contain_text("4 lines")
    choose(line(studio, "Only the cat").get_by_role("combobox"), "Narrator")
    expect(person(studio, "Eleanor")).to_contain_text("3 lines")
    choose(studio.get_by_label("Voice of Narrator"), "ada")
    choose(studio.get_by_label("Voice of Eleanor"), "tom")
    with page.expect_request("**/v1/audio/speech") as asked:
        studio.get_by_role("button", name="Hear Eleanor").click()
    body = cast("dict[str, str]", asked.value.post_data_json)
    assert (body["voice"], body["input"]) == ("tom", '"It has,"')

    studio.get_by_role("button", name="Narrate with this cast").click()

    expect(page.locator(".job-head .state")).to_have_attribute("data-state", "succeeded")
    job = client.job(page.url.rpartition("/")[2])
    spoken = {each.text: (each.speaker, each.voice) for each in client.segments.list(job)}
    assert spoken['"Who is there?"'] == ("Eleanor", "tom")
    assert spoken['"Only the cat," said Eleanor.'] == ("", "ada")
    expect(page.locator(".manuscript .speaker", has_text="Eleanor").first).to_be_visible()
    shoot(page, "cast-narration")


def test_two_names_become_one_and_two_again(open_page: OpenPage) -> None:
    page = open_page()
    studio = find(page, STORY)

    choose(studio.get_by_label("Same person as Mr. Harding"), "Eleanor")
    expect(person(studio, "Eleanor")).to_contain_text("Also Mr. Harding")
    expect(person(studio, "Mr. Harding").locator("strong", has_text="Mr. Harding")).to_have_count(0)
    choose(studio.get_by_label("Lines shown"), "Of Eleanor")
    expect(line(studio, "Has the post come?").get_by_role("combobox")).to_have_value("Eleanor")

    studio.get_by_role("button", name="Separate Mr. Harding").click()
    expect(person(studio, "Mr. Harding")).to_be_visible()
    expect(line(studio, "Has the post come?")).to_have_count(0)


def test_what_was_decided_is_kept_while_the_text_is_read_again(open_page: OpenPage) -> None:
    page = open_page()
    studio = find(page, STORY)
    choose(line(studio, "Who is there?").get_by_role("combobox"), "Narrator")

    studio.get_by_role("button", name="Back to the text").click()
    expect(page.get_by_role("textbox", name="Text", exact=True)).to_have_value(STORY)
    page.get_by_role("button", name="Find who speaks").click()
    expect(line(studio, "Who is there?").get_by_role("combobox")).to_have_value("")

    studio.get_by_role("button", name="Back to the text").click()
    studio = find(page, STORY.replace("cat", "dog"))
    expect(studio).to_have_count(1)
    expect(line(studio, "Who is there?").get_by_role("combobox")).to_have_value("")
    # A line that the text has once more may be another one.
    studio.get_by_role("button", name="Back to the text").click()
    studio = find(page, f'{STORY} "Who is there?"')
    expect(line(studio, "Who is there?").first.get_by_role("combobox")).not_to_have_value("")


def test_a_name_is_typed_for_a_line_and_another_is_changed(open_page: OpenPage, client: Rhapsode) -> None:
    page = open_page()
    studio = find(page, STORY)
    menu = line(studio, "Who is there?").get_by_role("combobox")
    expect(menu.locator("option")).to_have_text(["Narrator", "Eleanor", "Mr. Harding", "Another person …"])

    choose(menu, "Another person …")
    dialog = page.get_by_role("dialog", name="Another person")
    dialog.get_by_label("Name").fill("eleanor")
    dialog.get_by_role("button", name="Use this name").click()
    expect(menu).to_have_value("Eleanor")
    choose(menu, "Another person …")
    dialog.get_by_label("Name").fill("The postman")
    dialog.get_by_role("button", name="Use this name").click()
    expect(menu).to_have_value("The postman")
    expect(menu).to_be_focused()
    expect(person(studio, "The postman")).to_contain_text("1 line")
    choose(studio.get_by_label("Voice of The postman"), "tom")
    studio.get_by_role("button", name="Rename Mr. Harding").click()
    page.get_by_role("dialog", name="Rename Mr. Harding").get_by_label("Name").fill("Father")
    page.keyboard.press("Enter")
    expect(person(studio, "Father")).to_contain_text("2 lines")
    choose(studio.get_by_label("Voice of Father"), "tom")
    studio.get_by_role("button", name="Rename Father").click()
    page.get_by_role("dialog").get_by_label("Name").fill("mr. harding")
    page.keyboard.press("Enter")
    expect(person(studio, "Mr. Harding")).to_contain_text("Also Father")
    studio.get_by_role("button", name="Separate Father").click()
    studio.get_by_role("button", name="Rename Mr. Harding").click()
    page.get_by_role("dialog").get_by_label("Name").fill("Father")
    page.keyboard.press("Enter")
    expect(person(studio, "Father")).to_contain_text("2 lines")

    # All this is kept: for another text, and when the page is loaded again.
    page.reload()
    until_ready(page)
    expect(page.get_by_role("textbox", name="Text", exact=True)).to_have_value(STORY)
    studio = find(page, STORY.replace("cat", "dog"))
    expect(line(studio, "Who is there?").get_by_role("combobox")).to_have_value("The postman")
    studio.get_by_role("button", name="Narrate with this cast").click()
    expect(page.locator(".job-head .state")).to_have_attribute("data-state", "succeeded")
    job = client.job(page.url.rpartition("/")[2])
    spoken = {each.text: (each.speaker, each.voice) for each in client.segments.list(job)}
    assert spoken['"Who is there?"'] == ("The postman", "tom")
    assert spoken['"Has the post come?"'] == ("Father", "tom")
    page.get_by_role("link", name="New narration").click()
    studio = find(page, STORY)
    expect(person(studio, "Mr. Harding")).to_be_visible()
    expect(person(studio, "The postman")).to_have_count(0)


THOUGHTS = """"Has the post come?" asked Mr. Harding.

*I shall never finish this hive,* thought Mr. Harding.

"It has," said Eleanor.
"""


def test_characters_speak_their_own_thoughts_if_a_person_wants_it(
    open_page: OpenPage, client: Rhapsode, shoot: Shoot
) -> None:
    page = open_page()
    file: FilePayload = {"name": "bees.md", "mimeType": "text/markdown", "buffer": THOUGHTS.encode()}
    page.set_input_files("#document", file)
    page.get_by_role("button", name="Find who speaks").click()
    studio = page.get_by_role("region", name="Who speaks")
    own = studio.get_by_label("Characters speak their own thoughts: 1 line in italics")
    expect(own).not_to_be_checked()
    expect(studio.get_by_role("status")).to_contain_text("2 lines of 2 characters.")
    expect(line(studio, "never finish")).to_have_count(0)

    own.check()
    expect(studio.get_by_role("status")).to_contain_text("3 lines of 2 characters.")
    choose(line(studio, "never finish").get_by_role("combobox"), "Mr. Harding")
    choose(studio.get_by_label("Voice of Narrator"), "ada")
    choose(studio.get_by_label("Voice of Mr. Harding"), "tom")
    shoot(page, "thoughts")
    # The choice is kept while the text is looked at again.
    studio.get_by_role("button", name="Back to the text").click()
    page.get_by_role("button", name="Find who speaks").click()
    expect(own).to_be_checked()
    studio.get_by_role("button", name="Narrate with this cast").click()

    expect(page.locator(".job-head .state")).to_have_attribute("data-state", "succeeded")
    job = client.job(page.url.rpartition("/")[2])
    thought = next(each for each in client.segments.list(job) if "never finish" in each.text)
    assert (thought.speaker, thought.voice) == ("Mr. Harding", "tom")


def test_a_text_without_thoughts_asks_nothing_of_them(open_page: OpenPage) -> None:
    studio = find(open_page(), STORY)

    expect(studio.get_by_role("checkbox")).to_have_count(0)


def test_a_guess_is_marked_right(open_page: OpenPage) -> None:
    page = open_page()
    studio = find(page, STORY)
    said = studio.get_by_role("status")
    uncertain = studio.get_by_role("button", name=re.compile("^Right: "))
    number = uncertain.count()
    assert number > 0
    expect(said).to_contain_text(f"Check {number} uncertain")
    for left in range(number - 1, -1, -1):
        uncertain.first.click()
        expect(uncertain).to_have_count(left)
    expect(said).to_have_text("6 lines of 2 characters.")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Nobody speaks here. The room is empty and the lamp is out.", "This text has no quotations."),
        ("„Ist die Post da?“, fragte er. Sie sagte ihm, dass sie nicht da ist und es auch nicht sein wird.",
         "This text is not in English."),
    ],
    ids=["no quotations", "German"],
)  # fmt: skip
def test_a_text_without_speakers_is_said_in_a_sentence(open_page: OpenPage, text: str, said: str) -> None:
    page = open_page()
    page.set_input_files("#document", FilePayload(name="letter.txt", mimeType="text/plain", buffer=text.encode()))

    page.get_by_role("button", name="Find who speaks").click()

    expect(page.locator(".estimate")).to_contain_text(said)
    expect(page.get_by_role("region", name="Who speaks")).to_have_count(0)


def test_a_characters_voice_is_changed_in_the_narration_and_it_keeps_its_name(
    open_page: OpenPage, client: Rhapsode
) -> None:
    given: Any = {"text": STORY, "find_speakers": True}
    plan = client.plan(given, voice="ada")
    assert plan.cast is not None
    lines: dict[str, list[str]] = {}
    for each in plan.cast.lines:
        lines.setdefault(each.speaker or "Eleanor", []).append(each.id)
    chosen: Any = {"text": STORY, "lines": lines}
    job = client.wait(client.submit_job(chosen, voice="ada", speakers=dict.fromkeys(lines, "ada")))
    before = [*client.segments.list(job)]
    page = open_page(f"jobs/{job.id}")
    said = next(each.index for each in before if each.speaker == "Eleanor")
    page.locator(".segment").nth(said).click()
    note = page.get_by_role("region", name="Chosen passage")

    scope = note.get_by_label("Voice of")
    scope.select_option(label=f"all that Eleanor says: {sum(each.speaker == 'Eleanor' for each in before)}")
    choose(note.get_by_label("Voice", exact=True), "tom")
    note.get_by_role("button", name=re.compile("this voice")).click()

    expect(note.locator(".inspector-facts")).to_contain_text(re.compile("^tom · Eleanor"))
    expect(scope.locator("option:checked")).to_contain_text("all that Eleanor says")
    expect(page.locator(".manuscript .speaker", has_text="(tom)")).to_have_count(0)
    client.wait(job)
    after = [*client.segments.list(job)]
    assert {each.voice for each in after if each.speaker == "Eleanor (tom)"} == {"tom"}
    assert [each.index for each in after if each.takes > 1] == [
        each.index for each in before if each.speaker == "Eleanor"
    ]


def test_hostile_names_and_thousands_of_lines_stay_text_and_few_rows(open_page: OpenPage, shoot: Shoot) -> None:
    """The plan is the server's. Only its names are others: no text has such ones as the names of people."""
    names = [f"{HOSTILE} {number}" for number in range(500)]

    def renamed(route: Route) -> None:
        answer = route.fetch()
        plan = answer.json()
        if "cast" in plan:
            for number, each in enumerate(plan["cast"]["lines"]):
                each["speaker"] = names[number % len(names)]
            plan["cast"]["characters"] = [
                {"name": name, "names": [name], "sex": "", "num_lines": 4, "voice": "tom"} for name in names
            ]
        route.fulfill(response=answer, json=plan)

    page = open_page()
    page.route("**/v1/jobs", lambda route: renamed(route) if route.request.method == "POST" else route.continue_())
    told = "\n\n".join(f'"This is line {number} of many," he said. The boats were in.' for number in range(2_000))
    page.set_input_files("#document", {"name": "novel.txt", "mimeType": "text/plain", "buffer": told.encode()})
    page.get_by_role("button", name="Find who speaks").click()
    studio = page.get_by_role("region", name="Who speaks")
    expect(studio.get_by_role("status")).to_contain_text("2,000 lines of 500 characters.")
    assert studio.get_by_role("listitem").count() <= 20
    assert page.locator("option").count() < 1_000
    expect_unharmed(page)

    studio.get_by_role("button", name="Next lines").click()
    expect(studio.get_by_text("13 to 24 of 2,000")).to_be_visible()
    menu = studio.get_by_role("list", name="Lines", exact=True).get_by_role("combobox").first
    choose(menu, names[7])
    expect(menu).to_have_value(names[7])
    choose(studio.get_by_label("Lines shown"), f"Of {names[7]}")
    expect(studio.get_by_role("list", name="Lines", exact=True).get_by_role("listitem")).to_have_count(5)
    expect_unharmed(page)
    sent = refused_orders(page)
    studio.get_by_role("button", name="Narrate with this cast").click()
    expect(studio.get_by_role("alert")).to_contain_text("Not now")
    assert len(sent[0]["speakers"]) <= 64
    assert sum(map(len, sent[0]["input"]["lines"].values())) == 2_000


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_pictures(open_page: OpenPage, shoot: Shoot, width: int, scheme: str) -> None:
    page = open_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    studio = find(page, STORY)
    choose(studio.get_by_label("Same person as Mr. Harding"), "Eleanor")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    expect_headings_in_order(page)
    assert (faults(page), page.evaluate(MISNAMED), page.evaluate(NARROW)) == ([], [], [])
    shoot(page, f"cast-{width}-{scheme}")


def test_the_request_is_a_narration_with_lines(open_page: OpenPage, client: Rhapsode) -> None:
    page = open_page()
    studio = find(page, STORY)
    studio.get_by_role("button", name="Narrate with this cast").click()
    page.wait_for_selector(".job-title:not(:text-is('…'))")

    request = client.job(page.url.rpartition("/")[2]).request

    assert isinstance(request, Narration)
    assert request.input.has_lines
