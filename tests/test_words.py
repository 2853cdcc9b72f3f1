"""One word for one thing: what the glossary says not to use is not used."""

from __future__ import annotations

import itertools
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GLOSSARY = Path("docs/architecture.md")

SUFFIXES = {".py", ".lua", ".js", ".md", ".yaml", ".toml"}
ABOUT_OLD_NAMES = {GLOSSARY, Path("docker/UPGRADING.md")}
SPOKEN = ("training/corpus/sentences.py", "benchmarks/speech/", "tests/listening/")
"""Texts that are spoken and read have the words of their authors."""


def forbidden_words() -> list[str]:
    rows = [line.split("|") for line in (ROOT / GLOSSARY).read_text().splitlines() if line.startswith("| ")]
    glossary = [row for row in rows if len(row) == 5 and row[3].strip() not in {"", "not"}]
    return [word.strip() for row in glossary for word in row[3].split(",")]


def files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [Path(line) for line in listed.splitlines()]
    return [
        path
        for path in paths
        if path.suffix in SUFFIXES
        and path not in ABOUT_OLD_NAMES
        and not str(path).startswith(SPOKEN)
        and (ROOT / path).is_file()
    ]


def suspects() -> Iterator[tuple[Path, str]]:
    """Files with the letters of a forbidden word: few, and the pattern takes its time."""
    letters = [word.replace("_", "") for word in forbidden_words()]
    for path in files():
        text = (ROOT / path).read_text()
        folded = text.replace("_", "").lower()
        if any(each in folded for each in letters):
            yield path, text


def test_the_glossary_forbids_something() -> None:
    assert len(forbidden_words()) > 10


def test_a_word_that_was_replaced_does_not_come_back() -> None:
    # As a part of a name, too, in either spelling of names.
    spellings = [(rf"(?<![a-zA-Z]){word}s?(?![a-z])", rf"{_camel(word)}(?![a-z])") for word in forbidden_words()]
    pattern = re.compile("|".join(itertools.chain(*spellings)))
    found = [
        f"{path}:{number}: {match.group()}"
        for path, text in suspects()
        for number, line in enumerate(text.splitlines(), start=1)
        if (match := pattern.search(line))
    ]

    assert not found, f"the glossary of {GLOSSARY} has other words"


def _camel(word: str) -> str:
    return "".join(part.capitalize() for part in word.split("_"))
