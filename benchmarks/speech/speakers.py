"""How many quotations of marked novels get their speaker: on the Project Dialogism Novel Corpus.

    python -m benchmarks.speech.speakers CORPUS    (a clone of github.com/Priya22/project-dialogism-novel-corpus)

The novels of `UNSEEN` were looked at once, after the weights were fixed. A quotation counts if most of it is one that
the corpus marks. A character is the corpus' one whose name, or part of a name, it goes by most.
"""

from __future__ import annotations

import argparse
import ast
import csv
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from reading.dialogue.attribution import propose_speakers
from reading.dialogue.proposal import FIRST_PERSON, Character, Dialogue
from reading.script.script import plain_script

UNSEEN = (
    *("AHandfulOfDust", "DaisyMiller", "NightAndDay", "OliverTwist", "Persuasion", "TheInvisibleMan"),
    *("TheMysteriousAffairAtStyles", "TheSignOfTheFour", "TheSunAlsoRises", "WinnieThePooh"),
)
SURE = 0.95

Marks = list[tuple[int, int, str]]


class Novel:
    """names: of the corpus' characters, each with all that it goes by. marks: who says [start, end)."""

    def __init__(self, folder: Path) -> None:
        self.text = (folder / "novel_text.txt").read_text("utf-8")
        self.names = {row["Main Name"]: _aliases(row) for row in _rows(folder / "character_info.csv")}
        self.marks: Marks = sorted(
            (start, end, self._main(row["speaker"]))
            for row in _rows(folder / "quotation_info.csv")
            for start, end in ast.literal_eval(row["quoteByteSpans"])
        )
        self._lines = Counter(name for _, _, name in self.marks)

    def _main(self, name: str) -> str:
        return name if name in self.names else next((main for main, all in self.names.items() if name in all), name)

    def meant(self, character: Character) -> str:
        """The corpus' character; "" for none."""
        if character.name == FIRST_PERSON:
            return next((main for main, all in self.names.items() if "_narr" in all), "")
        votes: dict[str, float] = defaultdict(float)
        for rank, name in enumerate(character.names):
            words = set(_plain(name).split())
            exact = [main for main, all in self.names.items() if _plain(name) in map(_plain, all)]
            part = [main for main, all in self.names.items() if any(words <= set(_plain(each).split()) for each in all)]
            if exact or part:
                best = max(exact or part, key=lambda main: (self._lines[main], main))
                votes[best] += 1 / (1 + rank) if exact else 0.7 / (1 + rank)
        return max(votes, key=lambda main: votes[main], default="")

    def judged(self, dialogue: Dialogue) -> Iterator[tuple[float, bool]]:
        """The probability of each line, and whether its speaker is right."""
        people = {each.name: self.meant(each) for each in dialogue.characters}
        at = 0
        for line in dialogue.lines:
            while at < len(self.marks) and self.marks[at][1] <= line.start:
                at += 1
            near = [(min(line.end, end) - max(line.start, start), name) for start, end, name in self.marks[at : at + 4]]
            shared, name = max(near, default=(0, ""))
            if 2 * shared >= line.end - line.start and name:
                yield line.probability, people.get(line.speaker) == name

    def found(self, dialogue: Dialogue) -> float:
        """The share of marked quotations that are found."""
        inside = bytearray(len(self.text))
        for line in dialogue.lines:
            inside[line.start : line.end] = b"\1" * (line.end - line.start)
        return sum(sum(inside[start:end]) >= 0.9 * (end - start) for start, end, _ in self.marks) / len(self.marks)


def _rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def _aliases(row: dict[str, str]) -> set[str]:
    return {row["Main Name"], *ast.literal_eval(row["Aliases"])}


def _plain(name: str) -> str:
    return re.sub("[^a-z ]", "", name.lower().replace("-", " ").removeprefix("the ").removeprefix("a ")).strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    corpus: Path = parser.parse_args().corpus
    judged: list[tuple[float, bool]] = []
    for folder in (corpus / "data" / name for name in UNSEEN):
        novel = Novel(folder)
        dialogue = propose_speakers(plain_script(novel.text))
        lines = list(novel.judged(dialogue))
        judged += lines
        right = sum(is_right for _, is_right in lines) / len(lines)
        print(f"{folder.name:28} {len(lines):5} lines, {right:.1%} right, {novel.found(dialogue):.1%} found")
    sure = [is_right for probability, is_right in judged if probability >= SURE]
    print(f"all: {sum(is_right for _, is_right in judged) / len(judged):.1%} of {len(judged):,}")
    print(f"sure: {len(sure) / len(judged):.1%} of the lines, {sum(sure) / len(sure):.1%} right")


if __name__ == "__main__":
    main()
