"""Plans and pronunciation dictionaries by client and command line, on a whole stack."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Any

import pytest

from rhapsode import AsyncRhapsode, Rhapsode
from rhapsode.errors import InvalidRequest
from rhapsode.stack.stack import Stack
from tests.reading.documents.books import NAV_ITEM, book, nav, package, page

NOVEL = book(
    {
        "book.opf": package(["one.xhtml", "two.xhtml"], NAV_ITEM),
        "nav.xhtml": nav('<li><a href="one.xhtml">Dawn</a></li><li><a href="two.xhtml">Dusk</a></li>'),
        "one.xhtml": page("<h1>Dawn</h1><p>The W3C woke at 6:30.</p>"),
        "two.xhtml": page("<h1>Dusk</h1><p>Nobody came.</p>"),
    }
)


def test_a_plan_names_speakers_and_what_they_say(client: Rhapsode) -> None:
    plan = client.plan("FOX: Hello.\n\nThe end.", speakers={"Fox": "tom"})

    assert [(segment.speaker, segment.text) for segment in plan.segments] == [("Fox", "Hello."), (None, "The end.")]
    assert [(each.name, each.voice, each.num_segments) for each in plan.speakers] == [("", "ada", 1), ("Fox", "tom", 1)]


def test_an_awaited_plan_is_the_same(stack: Stack, client: Rhapsode) -> None:
    async def planned() -> int:
        async with AsyncRhapsode(stack.url) as awaited:
            dictionary = await awaited.dictionaries.create("async", [{"grapheme": "One", "alias": "two"}])
            assert dictionary.id in [each.id async for each in awaited.dictionaries.list()]
            plan = await awaited.plan("One.", pronunciation_dictionaries=[dictionary.id])
            await awaited.dictionaries.delete(dictionary)
            return plan.num_segments if plan.segments[0].text == "Two." else 0

    assert asyncio.run(planned()) == 1


def test_a_plan_leaves_no_job(stack: Stack, client: Rhapsode, run_cli: Any, tmp_path: Path) -> None:
    async def awaited() -> None:
        async with AsyncRhapsode(stack.url) as awaited:
            await awaited.plan("One.")

    before = [job.id for job in client.jobs()]
    (tmp_path / "book.md").write_text("# One\n\nTwo.\n")
    (tmp_path / "none.md").write_text("\n---\n")

    client.plan("One.")
    asyncio.run(awaited())
    planned = run_cli("plan", "book.md", "--server", stack.url)
    refused = run_cli("plan", "none.md", "--server", stack.url)

    assert [job.id for job in client.jobs()] == before
    assert (planned.returncode, refused.returncode) == (0, 1)
    assert refused.stderr.count("\n") == 1


def test_a_plan_that_is_interrupted_leaves_no_job(
    stack: Stack, client: Rhapsode, start_cli: Any, tmp_path: Path
) -> None:
    before = {job.id for job in client.jobs()}
    (tmp_path / "long.md").write_text("The wind was cold, and the sun was warm, they say.\n\n" * 20_000)
    process = start_cli("plan", "long.md", "--server", stack.url)
    while not (new := {job.id for job in client.jobs()} - before):
        assert process.poll() is None

    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)

    assert process.returncode in (0, 130)
    assert new.isdisjoint(job.id for job in client.jobs())


def test_what_cannot_be_planned_is_said(client: Rhapsode, tmp_path: Path) -> None:
    (tmp_path / "book.epub").write_bytes(b"not a zip")
    upload = client.upload(tmp_path / "book.epub")

    with pytest.raises(InvalidRequest, match="not a ZIP file"):
        client.plan({"document": {"upload_id": upload.id, "format": "epub"}})


def test_a_book_is_planned_with_its_dictionary_by_the_command_line(stack: Stack, run_cli: Any, tmp_path: Path) -> None:
    (tmp_path / "book.epub").write_bytes(NOVEL)
    (tmp_path / "words.csv").write_text("W3C,web people\n")
    server = ("--server", stack.url)

    reference = run_cli("dictionaries", "add", "words.csv", *server).stdout.strip()
    shown = run_cli("plan", "book.epub", "--dictionary", reference, "--words", "--language", "english", *server)
    changed = run_cli("plan", "book.epub", "--dictionary", reference, "--changes", *server)
    exported = run_cli("dictionaries", "export", reference.partition("@")[0], *server)
    (tmp_path / "words.pls").write_text(exported.stdout)
    second = run_cli("dictionaries", "add", "words.pls", "--to", reference.partition("@")[0], *server)
    listed = run_cli("dictionaries", "list", *server)
    removed = run_cli("dictionaries", "rm", "words", *server)
    again = run_cli("dictionaries", "rm", "words", *server)

    assert reference.endswith("@1")
    assert shown.stdout.splitlines()[0] == "A Book by Ann Author, Ben Writer"
    assert "4 segments" in shown.stdout
    assert [line.split()[-1] for line in shown.stdout.splitlines()[-2:]] == ["Dawn", "Dusk"]
    assert changed.stdout.splitlines()[-2:] == [
        "     1  - The W3C woke at 6:30.",
        "        + The web people woke at 6:30.",
    ]
    assert "<alias>web people</alias>" in exported.stdout
    assert second.stdout.strip() == reference.replace("@1", "@2")
    assert f"{second.stdout.strip()}\t1 rules\twords" in listed.stdout
    assert removed.returncode == 0
    assert (again.returncode, again.stderr.partition(";")[0]) == (
        2,
        "rhapsode: 0 dictionaries have the name 'words'",
    )


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("words.txt", b"", "neither a PLS file (.pls, .xml) nor a .csv"),
        ("words.csv", b"one,two,three\n", "line 1: write `word,pronunciation`"),
        ("words.csv", b"\xff\xfe", "not a CSV file in UTF-8"),
    ],
)
def test_a_dictionary_that_is_none_is_one_line_and_status_2(
    run_cli: Any, tmp_path: Path, name: str, content: bytes, says: str
) -> None:
    (tmp_path / name).write_bytes(content)

    outcome = run_cli("dictionaries", "add", name)

    assert (outcome.returncode, outcome.stderr.count("\n")) == (2, 1)
    assert says in outcome.stderr
