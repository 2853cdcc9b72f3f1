"""`rhapsode cast` and `narrate --cast` against a running system on the fake engine."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from rhapsode import Rhapsode
from rhapsode.stack.stack import Stack
from tests.reading.documents.books import book, package, page

STORY = """"Has the post come?" asked Mr. Harding.

"It has," said Eleanor, "and there is a bill."

"Then I shall go back to my bees."
"""


@pytest.fixture
def here(stack: Stack) -> dict[str, str]:
    return {"RHAPSODE_SERVER_URL": stack.url}


def test_a_story_is_cast_and_narrated(run_cli: Any, here: dict[str, str], stack: Stack, tmp_path: Path) -> None:
    (tmp_path / "bees.txt").write_text(STORY)

    outcome = run_cli("cast", "bees.txt", env=here)

    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stdout.startswith("bees.cast.toml: 4 lines of 2 characters\n")
    cast = tmp_path / "bees.cast.toml"
    held = tomllib.loads(cast.read_text())
    assert {line["said"]: line["speaker"] for line in held["lines"]}['"It has,"'] == "Eleanor"
    voices = {name: each["voice"] for name, each in held["characters"].items()}

    changed = cast.read_text().replace('speaker = "Eleanor"', 'speaker = "Mr. Harding"', 1)
    cast.write_text(changed)
    outcome = run_cli("narrate", "bees.txt", "--cast", "bees.cast.toml", "--json", env=here)

    assert outcome.returncode == 0, outcome.stderr
    with Rhapsode(stack.url) as client:
        job = next(iter(client.jobs()))
        spoken = [(each.speaker, each.text) for each in client.segments.list(job.id)]
    assert voices.keys() == {"Mr. Harding", "Eleanor"}
    assert ("", "asked Mr. Harding.") in spoken
    assert sorted(name for name, text in spoken if text in {'"It has,"', '"and there is a bill."'}) == [
        "Eleanor",
        "Mr. Harding",
    ]


def test_thoughts_are_the_narrators_until_the_file_says_otherwise(
    run_cli: Any, here: dict[str, str], stack: Stack, tmp_path: Path
) -> None:
    body = "<p>“I am late,” said Tom.</p><p><i>I am never late</i>, thought Tom. He saw <i>Emma</i> on the shelf.</p>"
    (tmp_path / "bees.epub").write_bytes(book({"book.opf": package(["1.xhtml"]), "1.xhtml": page(body)}))
    cast = tmp_path / "bees.cast.toml"

    assert run_cli("cast", "bees.epub", env=here).returncode == 0
    held = tomllib.loads(cast.read_text())
    assert held["thoughts"] == "narrator"
    assert [line["said"] for line in held["lines"] if line.get("thought")] == ["I am never late,"]
    for choice, thinker in (("narrator", ""), ("character", "Tom")):
        cast.write_text(cast.read_text().replace('thoughts = "narrator"', f'thoughts = "{choice}"'))
        outcome = run_cli("narrate", "bees.epub", "--cast", "bees.cast.toml", "--force", env=here)

        assert outcome.returncode == 0, outcome.stderr
        with Rhapsode(stack.url) as client:
            job = next(iter(client.jobs()))
            spoken = {each.text: each.speaker for each in client.segments.list(job.id)}
        assert {name for text, name in spoken.items() if "never late" in text} == {thinker}
        assert {name for text, name in spoken.items() if "Emma" in text} == {""}


def test_what_cannot_be_cast_is_refused_in_a_line(run_cli: Any, here: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "plain.txt").write_text("Nobody speaks here.")
    (tmp_path / "held.cast.toml").write_text("x = 1")
    (tmp_path / "held.txt").write_text(STORY)

    for arguments, said in (
        (("cast", "plain.txt"), "plain.txt has no quotations"),
        (("cast", "held.txt"), "held.cast.toml is there already"),
        (("narrate", "held.txt", "--cast", "held.cast.toml"), "`version = 1` is missing"),
    ):
        outcome = run_cli(*arguments, env=here)
        assert outcome.returncode == 2, outcome.stderr
        assert said in outcome.stderr
        assert outcome.stderr.count("\n") == 1


def test_a_novel_of_thousands_of_lines_is_taken(run_cli: Any, here: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "short.txt").write_text(STORY)
    lines = ", ".join(f'{{ id = "{number:08x}", speaker = "Al" }}' for number in range(5_000))
    (tmp_path / "long.toml").write_text(
        f'version = 1\nnarrator = "ada"\nlines = [{lines}]\n[characters]\nAl = {{ voice = "tom" }}\n'
    )

    outcome = run_cli("narrate", "short.txt", "--cast", "long.toml", env=here)

    assert outcome.returncode == 0, outcome.stderr
    assert "5,000 lines of the cast are not in this text" in outcome.stderr + outcome.stdout
