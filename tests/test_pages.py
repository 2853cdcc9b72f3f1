"""Every page reads as docs/contributing/writing.md asks: short sentences, short cells, plain words, few pages."""

from __future__ import annotations

import re
import statistics
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

MOST_WORDS_OF_A_SENTENCE = 30
MOST_WORDS_OF_A_CELL = 30
MOST_WORDS_OF_MEDIAN = 15
MOST_WORDS = 27_831
"""Of all pages together, as `wc -w` counts them."""

BANNED = (
    "anew",
    "behind it",
    "for ever",
    "heard",
    "in vain",
    "is told",
    "are told",
    "of its own",
    "of their own",
    "ran dry",
    "runs dry",
    "somebody",
    "stranger",
    "strangers",
    "who waits",
    "whoever",
)

FENCED = re.compile(r"^ *```.*?^ *```\s*$", re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
TAG = re.compile(r"<[^>]+>")
LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\]]*\])*)\]\([^)]*\)")
CODE = re.compile(r"`[^`]*`")
CELLS = re.compile(r"(?<!\\)\|")
BREAK = re.compile(r"\n\s*\n")
NOT_PROSE = re.compile(r"^(#|:::).*$", re.MULTILINE)
ITEM = re.compile(r"^\s*(?:[-*]|\d+\.) ", re.MULTILINE)
END = re.compile(r"(?<=[.!?:])[)\"]?\s+(?=[A-Z0-9(\"]|code)")


def pages() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [Path(line) for line in listed.splitlines() if (ROOT / line).is_file()]


def without_code(page: str) -> str:
    """Code in a line counts as one word."""
    text = TAG.sub(" ", COMMENT.sub(" ", FENCED.sub("\n", page)))
    return CODE.sub("code", LINK.sub(r"\1", text)).replace("**", "")


def words(text: str) -> list[str]:
    return [word for word in text.split() if re.search(r"\w", word)]


def sentences(page: str) -> Iterator[str]:
    lines = [line for line in without_code(page).splitlines() if not line.startswith("|")]
    prose = ITEM.sub("\n\n", NOT_PROSE.sub("\n", "\n".join(lines)))
    for paragraph in BREAK.split(prose):
        yield from (each for each in END.split(" ".join(paragraph.split())) if words(each))


def cells(page: str) -> Iterator[str]:
    for line in without_code(page).splitlines():
        if line.startswith("|"):
            yield from (cell.strip() for cell in CELLS.split(line))


def too_long(texts: Iterator[str], most: int) -> list[str]:
    return [f"{number} words: {text[:100]}" for text in texts if (number := len(words(text))) > most]


@pytest.mark.parametrize("page", pages(), ids=str)
def test_a_page_reads_as_the_rules_ask(page: Path) -> None:
    text = (ROOT / page).read_text()
    lengths = [len(words(each)) for each in sentences(text)]
    spoken = without_code(text).lower()

    assert too_long(sentences(text), MOST_WORDS_OF_A_SENTENCE) == []
    assert too_long(cells(text), MOST_WORDS_OF_A_CELL) == []
    assert statistics.median(lengths or [0]) <= MOST_WORDS_OF_MEDIAN
    assert [banned for banned in BANNED if re.search(rf"\b{banned}\b", spoken)] == []


def test_pages_together_are_short() -> None:
    numbers = {str(page): len((ROOT / page).read_text().split()) for page in pages()}

    assert sum(numbers.values()) <= MOST_WORDS, sorted(numbers.items(), key=lambda each: -each[1])[:10]


@pytest.mark.parametrize(
    ("page", "found"),
    [
        ("One. Two words `of code.x`. [Three](a.md#b) of **them**\nhere: So.", [1, 3, 4, 1]),
        ("# Not this\n- one item\n- another item here\n\n| cell |\n", [2, 3]),
        ("```console\n$ a long command with words\n```\nBut this.", [2]),
        ("A list, see page 1.2 of it, goes on.", [9]),
    ],
)
def test_sentences_are_counted_without_code_and_tables(page: str, found: list[int]) -> None:
    assert [len(words(each)) for each in sentences(page)] == found


def test_a_riddle_of_before_would_be_found() -> None:
    before = "On the GPU lane a ticket only wakes: the worker then looks, as its engine has room, three times in vain."

    assert [banned for banned in BANNED if banned in before] == ["in vain"]
    assert too_long(iter([f"{before} {before}"]), MOST_WORDS_OF_A_SENTENCE) != []
    assert too_long(cells(f"| a | {before} {before} |"), MOST_WORDS_OF_A_CELL) != []
