"""What is beside a narration: its code, which runs; a link to give away; its history; several chosen in the list."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import wave
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from rhapsode import Job, Rhapsode
from rhapsode.client.request_options import LoudnessFields
from rhapsode.contract.jobs.narration import Narration
from tests.page.conftest import OpenPage
from tests.page.texts import story
from tests.waiting import until

Shoot = Callable[[Page, str], None]

QUOTES = "She said: \"It's $5 `now`\", didn't she? Back\\slash."


@pytest.fixture
def job(client: Rhapsode) -> Iterator[Job]:
    words = client.dictionaries.create("ours", [{"grapheme": "Backslash", "alias": "stroke"}])
    yield client.wait(
        client.submit_job(
            f"{story(2)}\n\n{QUOTES}",
            voice="tom",
            metadata={"title": "Don't: a 'title'", "a; touch never": "x"},
            pauses={"sentence_s": 0.2},
            sampling={"temperature": 0.7},
            quality={"max_attempts": 2},
            retention_s=86_400,
            pronunciation_dictionaries=[f"{words.id}@1"],
        )
    )
    client.dictionaries.delete(words.id)


def code(page: Page, name: str) -> str:
    return (
        page.get_by_role("dialog")
        .locator("section", has=page.get_by_role("heading", name=name))
        .locator("pre")
        .inner_text()
    )


def narration(client: Rhapsode, job_id: str) -> Narration:
    request = client.job(job_id).request
    assert isinstance(request, Narration)
    return request


def expect_same(client: Rhapsode, first: str, second: str) -> None:
    """As far as an order says it; both say the same text."""
    ours, theirs = narration(client, first), narration(client, second)
    for name in (
        "voice",
        "model",
        "seed",
        "language",
        "normalization",
        "pauses",
        "sampling",
        "quality",
        "output",
        "pronunciation_dictionaries",
    ):
        assert getattr(ours, name) == getattr(theirs, name), name
    said = [[each.text for each in client.segments.list(each)] for each in (first, second)]
    assert said[0] == said[1]


def test_the_code_of_a_narration_orders_the_same_one(
    open_page: OpenPage, client: Rhapsode, job: Job, shoot: Shoot, tmp_path: Path
) -> None:
    page = open_page(f"jobs/{job.id}")
    expect(page.locator(".segment").last).to_be_visible()
    page.get_by_role("button", name="As code").click()
    expect(page.get_by_role("dialog", name="As code")).to_be_visible()
    shoot(page, "code")

    answer = subprocess.run(["bash", "-c", code(page, "curl")], capture_output=True, text=True, check=True)
    by_curl = client.wait(json.loads(answer.stdout)["id"])
    script = tmp_path / "order.py"
    script.write_text(code(page, "Python"))
    subprocess.run([sys.executable, script], cwd=tmp_path, check=True)
    by_python = next(iter(client.jobs()))
    assert (tmp_path / "narration.wav").exists()
    folder = tmp_path / "command"
    folder.mkdir()
    told = code(page, "Command line").replace("rhapsode ", f"{sys.executable} -m rhapsode ", 1)
    environment = os.environ | {"RHAPSODE_DATA_DIR": str(tmp_path)}
    subprocess.run(["bash", "-c", told], cwd=folder, check=True, env=environment, capture_output=True)
    by_command = next(iter(client.jobs()))

    for other in (by_curl, by_python, by_command):
        assert other.id != job.id
        expect_same(client, job.id, other.id)
    for other in (by_curl, by_python):
        assert narration(client, other.id) == narration(client, job.id)
    assert told.startswith("# Without metadata, retention_s.\n")
    with wave.open(str(folder / "narration.wav")) as audio:
        assert audio.getnframes() > 0


def test_the_code_of_a_cast_has_its_voices_respellings_and_files(
    open_page: OpenPage, client: Rhapsode, tmp_path: Path
) -> None:
    text = '"I have a coat," Maren said.\n\n"You have half of one," said Josk. It rained.\n\nThe ferry left at six.'
    plan = client.plan({"text": text, "find_speakers": True}, voice="ada")
    assert plan.cast is not None
    lines = {"Maren": [plan.cast.lines[0].id], "Josk": [plan.cast.lines[1].id]}
    job = client.wait(
        client.submit_job(
            {"text": text, "lines": lines},
            voice="ada",
            speakers={"Maren": "tom", "Josk": "tom"},
            output={"formats": [{"type": "wav"}, {"type": "flac"}, {"type": "mp3"}]},
        )
    )
    last = [*client.segments.list(job)][-1]
    client.segments.edit_all(job, [last], voice="tom")
    client.wait(job)
    client.segments.edit_all(job, [last], pronunciations={"ferry": "fairy"})
    client.wait(job)
    # Words that only some passages say so stay respelt in the text.
    first, second, *_ = client.segments.list(job)
    client.segments.edit_all(job, [first], pronunciations={"I": "eye"})
    client.wait(job)
    client.segments.edit(job, second, text='"I have it," said Josk.')
    job = client.wait(job)
    page = open_page(f"jobs/{job.id}")
    expect(page.locator(".segment").last).to_be_visible()
    page.get_by_role("button", name="As code").click()

    answer = subprocess.run(["bash", "-c", code(page, "curl")], capture_output=True, text=True, check=True)
    by_curl = client.wait(json.loads(answer.stdout)["id"])
    script = tmp_path / "order.py"
    script.write_text(code(page, "Python"))
    subprocess.run([sys.executable, script], cwd=tmp_path, check=True)
    by_python = next(iter(client.jobs()))

    ours = [*client.segments.list(job)]
    assert len({each.voice for each in ours}) == 2
    assert ours[-1].text == "The fairy left at six."
    for name in ("curl", "Python"):
        assert "The ferry left at six." in code(page, name)
        assert "fairy left" not in code(page, name)
        assert "eye have a coat" in code(page, name)
    expect(page.get_by_role("dialog")).to_contain_text("A dictionary says how words are said.")
    (reference,) = narration(client, by_curl.id).pronunciation_dictionaries
    identity, _, version = reference.partition("@")
    dictionary = client.dictionaries.export(identity, int(version)).decode()
    assert re.findall(r"<grapheme>(.*?)</grapheme>\s*<alias>(.*?)</alias>", dictionary) == [("ferry", "fairy")]
    for other in (by_curl, by_python):
        theirs = [*client.segments.list(other)]
        for name in ("text", "voice", "pause_after_s"):
            assert [getattr(each, name) for each in theirs] == [getattr(each, name) for each in ours], name
        assert [each.speaker for each in theirs[:-1]] == [each.speaker for each in ours[:-1]]
    assert narration(client, by_curl.id).output == narration(client, job.id).output
    assert '"tom": "tom"' not in code(page, "curl")
    assert {each.name for each in tmp_path.glob("narration.*")} >= {"narration.wav", "narration.flac", "narration.mp3"}
    left = "the voices and edits of single passages, the flac file, the mp3 file"
    assert code(page, "Command line").startswith(f"# Without {left}.\n")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (None, "--loudness none"),
        ({"target_lufs": -19, "scope": "segment"}, None),
        ({"target_lufs": -16}, "--loudness -16"),
    ],
)
def test_the_command_says_a_loudness_that_is_not_its_own(
    open_page: OpenPage, client: Rhapsode, asked: LoudnessFields | None, said: str | None
) -> None:
    job = client.wait(client.submit_job("Yes.", voice="tom", output={"loudness": asked} if asked else None))
    page = open_page(f"jobs/{job.id}")
    page.get_by_role("button", name="As code").click()

    assert re.findall(r"--loudness \S+", code(page, "Command line")) == ([said] if said else [])


def test_a_link_is_given_away_and_followed_by_a_stranger(
    open_page: OpenPage, client: Rhapsode, chromium: Browser, job: Job, shoot: Shoot
) -> None:
    page = open_page(f"jobs/{job.id}")
    page.get_by_role("button", name="Share").click()
    dialog = page.get_by_role("dialog", name="Share")
    dialog.get_by_label("For").select_option(label="An hour")
    dialog.get_by_role("button", name="Make a link").click()
    link = dialog.get_by_label("Link")
    expect(link).to_have_value(re.compile("^http"))
    expect(dialog).to_contain_text("File name: Don't a 'title'.wav")
    expect(dialog).to_contain_text("This link works on this machine only.")
    expect(dialog).to_contain_text("It ends earlier if the file is made again")
    # The address is read from its beginning.
    page.wait_for_function("() => document.getElementById('share-link').scrollLeft === 0")
    page.context.grant_permissions(["clipboard-write"])
    dialog.get_by_role("button", name="Copy").click()
    expect(dialog.get_by_role("button", name="Copied")).to_be_visible()
    shoot(page, "share")

    stranger = chromium.new_context().new_page()
    stranger.goto(link.input_value())
    plays(stranger)
    stranger.context.close()
    assert httpx.get(link.input_value()).content.startswith(b"RIFF")


def plays(page: Page) -> None:
    """Until sound has come from the file that is open."""
    page.locator("video, audio").evaluate("media => media.play()")
    page.wait_for_function("() => document.querySelector('video, audio').currentTime > 0.2")


def test_an_old_link_says_so_where_it_was_heard_before(client: Rhapsode, chromium: Browser) -> None:
    job = client.wait(client.submit_job(story(2)))
    link = client.share(job, "narration.wav").url
    friend = chromium.new_context().new_page()
    friend.goto(link)
    plays(friend)
    client.segments.edit(job, 0, text="This is new.")
    client.wait(job)
    # The earlier file is deleted after the job has succeeded.
    until(lambda: httpx.get(link).status_code == 404)

    friend.goto("about:blank")
    friend.goto(link)

    expect(friend.get_by_role("heading", level=1)).to_have_text("This link does not work")
    friend.context.close()


def test_its_history_says_when_what_and_by_whom(open_page: OpenPage, client: Rhapsode) -> None:
    # Speech reused from another test's job gets a separate row.
    job = client.wait(client.submit_job(story(3), reuse=False))
    page = open_page(f"jobs/{job.id}")
    page.get_by_role("button", name="History").click()

    rows = page.get_by_role("dialog", name="History").locator("tbody tr")
    expect(rows.first).to_contain_text("Done")
    number = len([*client.segments.list(job)])
    expect(rows.filter(has_text=f"{number} passages spoken and checked")).to_contain_text("gpu-0")
    expect(rows.filter(has_text="narration.wav made")).to_have_count(1)
    expect(rows.last).to_contain_text("Accepted")


def test_its_history_names_the_passages_that_were_changed(open_page: OpenPage, client: Rhapsode, shoot: Shoot) -> None:
    given: Any = {"segments": [{"text": text} for text in ("The ferry is late.", "We wait.", "It comes.")]}
    job = client.wait(client.submit_job(given, voice="ada", reuse=False))
    client.segments.edit_all(job, [*client.segments.list(job)][1:], voice="tom")
    client.wait(job)
    client.segments.edit(job, 0, text="")
    page = open_page(f"jobs/{client.wait(job).id}")
    page.get_by_role("button", name="History").click()

    rows = page.get_by_role("dialog", name="History").locator("tbody tr")
    expect(rows.filter(has_text="2 passages with another voice: 2, 3")).to_have_count(1)
    expect(rows.filter(has_text="Passage 1 left out")).to_have_count(1)
    expect(rows.filter(has_text="Passage 1 deleted: take 2")).to_have_count(1)
    expect(rows.filter(has_text="2 passages spoken and checked")).to_have_count(1)
    shoot(page, "history")


def test_its_history_says_what_each_edit_changed(open_page: OpenPage, client: Rhapsode) -> None:
    given: Any = {"segments": [{"text": text, "speaker": "Anna"} for text in ("The ferry is late.", "We wait.")]}
    job = client.wait(client.submit_job(given, voice="ada", speakers={"Anna": "ada", "Tom": "tom"}))
    changes: list[Any] = [{"text": "The ferry is here.", "voice": "tom"}, {"speaker": "Tom"}, {"text": ""}]
    for each in changes:
        client.segments.edit(job, 0, **each)
        client.wait(job)
    client.segments.select(job, 0, 3)
    client.segments.edit_all(job, [1], pronunciations={"wait": "weight"})
    client.wait(job)
    client.segments.regenerate(job, 1)
    client.wait(job)
    page = open_page(f"jobs/{job.id}")
    page.get_by_role("button", name="History").click()

    rows = page.get_by_role("dialog", name="History").locator("tbody tr")
    expect(rows.filter(has_text=re.compile(r"take \d"))).to_have_text(
        [
            re.compile("Passage 2 asked for again: take 3"),
            re.compile("Passage 2 with another pronunciation: take 2"),
            re.compile("Passage 1 brought back: take 3"),
            re.compile("Passage 1 deleted: take 4"),
            re.compile("Passage 1 with another speaker: take 3"),
            re.compile("Passage 1 with another text and voice: take 2"),
        ]
    )
    expect(rows.filter(has_text="asked for again")).to_contain_text("“We wait.”")
    # "All steps" shows the other events too.
    expect(rows.filter(has_text="Accepted")).to_be_hidden()
    page.get_by_label("All steps").check()
    expect(rows.filter(has_text="Accepted")).to_be_visible()
    # An earlier version told less.
    page.keyboard.press("Escape")

    def as_told_before(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=re.sub(r'"changed": ?"', '"later": "', answer.text()))

    page.route("**/events", as_told_before)
    page.get_by_role("button", name="History").click()
    expect(rows.filter(has_text="changed or asked for again")).to_have_count(5)
    expect(rows.filter(has_text="with another take chosen")).to_have_count(1)


def test_narrations_are_found_by_their_words_and_several_deleted_at_once(
    open_page: OpenPage, client: Rhapsode, shoot: Shoot
) -> None:
    jobs = [client.submit_job(story(1), metadata={"title": f"Needle {number}"}) for number in range(3)]
    for each in jobs:
        client.wait(each)
    page = open_page()
    page.get_by_label("Search narrations").fill("needle")
    rows = page.locator(".job-row:visible")
    expect(rows).to_have_count(3)
    page.get_by_role("button", name="Select narrations").click()
    page.get_by_label("Select Needle 0").check()
    page.get_by_label("Select Needle 2").check()
    expect(page.get_by_text("2 narrations selected")).to_be_visible()
    shoot(page, "bulk")

    page.locator(".bulk").get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()

    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("Needle 1")
    rows.get_by_role("link").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("dialog", name="Delete “Needle 1”?").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("No narration matches your search.")).to_be_visible()


def test_files_that_lack_a_change_say_so_and_are_not_shared(open_page: OpenPage, client: Rhapsode) -> None:
    job = client.wait(client.submit_job(story(2)))
    page = open_page(f"jobs/{job.id}")
    files = page.get_by_role("region", name="Files")
    share = page.get_by_role("button", name="Share")
    expect(share).to_be_visible()
    expect(files).not_to_contain_text("latest changes")
    # What the server says while a passage is spoken again. `unroute` would break an answer that is under way.
    changed: dict[str, object] = {"state": "running", "finished_at": None}
    page.route(f"**/v1/jobs/{job.id}", lambda route: route.fulfill(json=route.fetch().json() | changed))

    expect(files).to_contain_text("These files were made before your latest request.")
    expect(share).to_be_hidden()
    changed.clear()

    expect(share).to_be_visible()
    expect(files).not_to_contain_text("latest changes")


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("A heron stood in the shallow water. It did not move.", "A heron stood in the shallow water."),
        ("The gate was left open by Mrs. Alder. It was late.", "The gate was left open by Mrs. Alder."),
        ("J. R. Vane slept on p. 5 of a book. She woke.", "J. R. Vane slept on p. 5 of a book."),
        ("Who goes there? A friend.", "Who goes there?"),
    ],
)
def test_a_narration_without_a_title_is_called_by_its_first_sentence(
    open_page: OpenPage, client: Rhapsode, text: str, title: str
) -> None:
    job = client.wait(client.submit_job(text))
    page = open_page(f"jobs/{job.id}")

    expect(page.locator(".job-title")).to_have_text(title)
