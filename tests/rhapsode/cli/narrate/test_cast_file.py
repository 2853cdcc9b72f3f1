"""The file of a cast: written for people, read as they leave it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from rhapsode.cli.failures import Misuse
from rhapsode.cli.narrate.cast_file import advice, read_cast, written_cast
from rhapsode.contract.jobs.input import MAX_SPEAKERS
from rhapsode.contract.plans import ProposedCast, ProposedCharacter, ProposedLine


def proposed(*speakers: tuple[str, float], voices: Mapping[str, str]) -> ProposedCast:
    names = list(dict.fromkeys(name for name, _ in speakers if name))
    return ProposedCast(
        characters=tuple(
            ProposedCharacter(name=name, names=(name, f"old {name}"), sex="", num_lines=1, voice=voices[name])
            for name in names
        ),
        lines=tuple(
            ProposedLine(id=f"{number:08x}", start=0, end=3, speaker=name, probability=sure, text=f'"\x7f{number}"')
            for number, (name, sure) in enumerate(speakers)
        ),
    )


def test_what_is_written_is_read_and_uncertain_lines_come_first(tmp_path: Path) -> None:
    voices = {"Mary\n\"'": "bf_emma", "Tom": "am_adam"}
    cast = proposed(("Mary\n\"'", 0.99), ("Tom", 0.4), ("", 0.3), voices=voices)
    file = tmp_path / "cast.toml"
    file.write_text(written_cast("A\nbook", cast, "af_heart"))

    assert [line["speaker"] for line in tomllib.loads(file.read_text())["lines"]] == ["Tom", "", "Mary\n\"'"]
    assert (read := read_cast(file)).narrator == "af_heart"
    assert read.lines == {"00000000": "Mary\n\"'", "00000001": "Tom"}
    assert read.speakers == voices


def test_two_names_of_one_person_have_one_voice_and_the_narrators_lines_none(tmp_path: Path) -> None:
    file = tmp_path / "cast.toml"
    file.write_text(
        'version = 1\nnarrator = "n"\n'
        'lines = [{ id = "a", speaker = "Lizzy" }, { id = "b", speaker = "Elizabeth" }, { id = "c", speaker = "I" }]\n'
        '[characters]\nElizabeth = { voice = "e" }\nLizzy = { same_as = "Elizabeth" }\nI = { voice = "n" }\n'
    )

    read = read_cast(file)

    assert read.lines == {"a": "Lizzy", "b": "Elizabeth"}
    assert set(read.speakers.values()) == {"e"}


def test_thoughts_are_lines_of_a_person_only_if_the_file_says_so(tmp_path: Path) -> None:
    file = tmp_path / "cast.toml"
    cast = proposed(("Tom", 0.99), ("Tom", 0.4), voices={"Tom": "am_adam"})
    thought = cast.lines[1].model_copy(update={"thought": True})
    file.write_text(
        written := written_cast("A", ProposedCast(characters=cast.characters, lines=(*cast.lines[:1], thought)), "n")
    )

    assert read_cast(file).lines == {"00000000": "Tom"}
    file.write_text(written.replace('thoughts = "narrator"', 'thoughts = "character"'))
    assert read_cast(file).lines == {"00000000": "Tom", "00000001": "Tom"}
    file.write_text(written.replace('thoughts = "narrator"', "thoughts = true"))
    with pytest.raises(Misuse, match='`thoughts` is "narrator" or "character"'):
        read_cast(file)


def test_a_book_without_thoughts_has_no_choice_of_them() -> None:
    assert "thought" not in written_cast("A", proposed(("Tom", 0.9), voices={"Tom": "am_adam"}), "n")


def test_more_people_than_a_job_may_have_share_names(tmp_path: Path) -> None:
    many = [(f"Person {number}", 0.5) for number in range(MAX_SPEAKERS + 20)]
    file = tmp_path / "cast.toml"
    voices = {name: f"v{number % 5}" for number, (name, _) in enumerate(many)}
    file.write_text(written_cast("A book", proposed(*many, *many[:3], voices=voices), "n"))

    read = read_cast(file)

    assert len(read.speakers) <= MAX_SPEAKERS
    assert len(read.lines) == len(many) + 3
    assert sum(map(len, read.lines_by_speaker.values())) == len(read.lines)
    assert set(read.lines.values()) == set(read.speakers)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("version = ", "Invalid value"),
        ("narrator = 'a'", "`version = 1` is missing"),
        ("version = 1", "'narrator' is missing"),
        ("version = 1\nnarrator = 'a'\nlines = 3\ncharacters = {}", "wrong kind"),
        ("version = 1\nnarrator = 'a'\nlines = [{ id = 'x', speaker = 'Al' }]\ncharacters = {}", "'Al'"),
        ("version = 1\nnarrator = 'a'\nlines = []\n[characters]\nAl = { same_as = 'Bo' }", "'Bo' is missing"),
    ],
)
def test_a_file_that_is_no_cast_is_refused_in_one_line(tmp_path: Path, content: str, said: str) -> None:
    file = tmp_path / "cast.toml"
    file.write_text(content)

    with pytest.raises(Misuse, match=said) as refused:
        read_cast(file)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("certainties", "said"),
    [
        ((0.99, 0.4, 0.3), "Check the first 2 of 3 lines."),
        ((0.5, 0.4), "Check all lines."),
        ((0.88, 0.99), "All 2 lines are at least 88% sure; check a few."),
    ],
)
def test_the_file_says_which_lines_to_check(certainties: tuple[float, ...], said: str) -> None:
    assert advice(proposed(*(("Tom", sure) for sure in certainties), voices={"Tom": "am_adam"})) == said
