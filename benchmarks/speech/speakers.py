"""How many quotations of marked novels get their speaker: on the Project Dialogism Novel Corpus.

    python -m benchmarks.speech.speakers CORPUS    (a clone of github.com/Priya22/project-dialogism-novel-corpus)

`--development` reads the other novels, from which the weights were learnt.

The novels of `UNSEEN` were read after the weights were fixed: once for each set of weights. A quotation counts if most
of it is one that the corpus marks. A character is the corpus' one whose name, or part of a name, it goes by most.
A sentence that the corpus does not mark is the narrator's. Those in quotation marks are counted apart: letters,
citations, thoughts and what a speaker quotes.
"""

from __future__ import annotations

import argparse
import ast
import csv
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from reading.dialogue.attribution import paragraphs, propose_speakers
from reading.dialogue.proposal import FIRST_PERSON, Character, Dialogue
from reading.dialogue.quotations import Span
from reading.script.script import plain_script

UNSEEN = (
    *("AHandfulOfDust", "DaisyMiller", "NightAndDay", "OliverTwist", "Persuasion", "TheInvisibleMan"),
    *("TheMysteriousAffairAtStyles", "TheSignOfTheFour", "TheSunAlsoRises", "WinnieThePooh"),
)
SURE = 0.88
"""As `rhapsode cast` has it."""

Mark = tuple[str, str]
"""The speaker of a quotation, and its kind: `Explicit` (a name in its tag), `Anaphoric` or `Implicit`."""


class Novel:
    """names: of the corpus' characters, each with all that it goes by. marks: who says [start, end)."""

    def __init__(self, folder: Path) -> None:
        self.text = (folder / "novel_text.txt").read_text("utf-8")
        self.names = {row["Main Name"]: _aliases(row) for row in _rows(folder / "character_info.csv")}
        self.marks: list[tuple[int, int, Mark]] = sorted(
            (start, end, (self._main(row["speaker"]), row["quoteType"]))
            for row in _rows(folder / "quotation_info.csv")
            for start, end in ast.literal_eval(row["quoteByteSpans"])
        )
        self._lines = Counter(name for _, _, (name, _) in self.marks)

    def _main(self, name: str) -> str:
        return name if name in self.names else next((main for main, all in self.names.items() if name in all), name)

    def meant(self, character: Character) -> str:
        """The corpus' character; "" for none."""
        if character.name == FIRST_PERSON:
            return next((main for main, all in self.names.items() if "_narr" in all), "")
        votes: dict[str, float] = defaultdict(float)
        for rank, name in enumerate(name for name in character.names if name != FIRST_PERSON):
            words = set(_plain(name).split())
            exact = [main for main, all in self.names.items() if _plain(name) in map(_plain, all)]
            part = [main for main, all in self.names.items() if any(words <= set(_plain(each).split()) for each in all)]
            if exact or part:
                best = max(exact or part, key=lambda main: (self._lines[main], main))
                votes[best] += 1 / (1 + rank) if exact else 0.7 / (1 + rank)
        return max(votes, key=lambda main: votes[main], default="")

    def judged(self, dialogue: Dialogue) -> Iterator[tuple[float, bool, str]]:
        """The probability of each line, whether its speaker is right, and its kind."""
        people = {each.name: self.meant(each) for each in dialogue.characters}
        for index, (name, kind) in self.marked([(line.start, line.end) for line in dialogue.lines]):
            line = dialogue.lines[index]
            yield line.probability, people.get(line.speaker) == name, kind

    def marked(self, spans: Sequence[Span]) -> Iterator[tuple[int, Mark]]:
        """The spans that the corpus marks for the most part: each one's index and mark. spans: in order."""
        at = 0
        for index, (first, last) in enumerate(spans):
            while at < len(self.marks) and self.marks[at][1] <= first:
                at += 1
            near = [(min(last, end) - max(first, start), mark) for start, end, mark in self.marks[at : at + 4]]
            shared, mark = max(near, default=(0, ("", "")))
            if 2 * shared >= last - first and mark[0]:
                yield index, mark

    def found(self, dialogue: Dialogue) -> float:
        """The share of marked quotations that are found."""
        inside = _inside(self.text, [(line.start, line.end) for line in dialogue.lines])
        return sum(sum(inside[start:end]) >= 0.9 * (end - start) for start, end, _ in self.marks) / len(self.marks)

    def narrated(self, dialogue: Dialogue) -> Counter[tuple[bool, bool]]:
        """Sentences that the corpus does not mark: whether one is in quotation marks, and whether a character speaks it
        (each by most of its letters).
        """
        marks = _SINGLE if self.text.count("‘") > self.text.count('"') + self.text.count("“") else _DOUBLE
        parts = paragraphs(plain_script(self.text))
        marked = _inside(self.text, [(start, end) for start, end, _ in self.marks])
        quoted = _inside(self.text, [match.span() for part in parts for match in marks.finditer(self.text, *part)])
        spoken = _inside(self.text, [(line.start, line.end) for line in dialogue.lines if line.speaker])
        found: Counter[tuple[bool, bool]] = Counter()
        for start, end in parts:
            for sentence in _SENTENCE.finditer(self.text, start, end):
                letters = [at for at in range(*sentence.span()) if self.text[at].isalnum() and not marked[at]]
                if letters:
                    found[_most(quoted, letters), _most(spoken, letters)] += 1
        return found


_SENTENCE = re.compile(r"[^.!?]+[.!?]*[\"”’)_]*")
_DOUBLE, _SINGLE = re.compile(r"[\"“][^\"“”]*[\"”]?"), re.compile(r"‘(?:[^‘’]|’(?=\w))*’?")


def _inside(text: str, spans: Iterable[Span]) -> bytearray:
    """1 for each character in one of the spans."""
    inside = bytearray(len(text))
    for start, end in spans:
        inside[start:end] = b"\1" * (end - start)
    return inside


def _most(inside: bytearray, letters: Sequence[int]) -> bool:
    return 2 * sum(inside[at] for at in letters) > len(letters)


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
    parser.add_argument("--development", action="store_true")
    given = parser.parse_args()
    corpus: Path = given.corpus
    names = [each.name for each in sorted((corpus / "data").iterdir()) if (each.name in UNSEEN) != given.development]
    judged: list[tuple[float, bool, str]] = []
    narrated: Counter[tuple[bool, bool]] = Counter()
    for folder in (corpus / "data" / name for name in names):
        novel = Novel(folder)
        dialogue = propose_speakers(plain_script(novel.text))
        lines = list(novel.judged(dialogue))
        judged += lines
        narrated += novel.narrated(dialogue)
        right = sum(is_right for _, is_right, _ in lines) / len(lines)
        print(f"{folder.name:28} {len(lines):5} lines, {right:.1%} right, {novel.found(dialogue):.1%} found")
    print(f"all: {sum(is_right for _, is_right, _ in judged) / len(judged):.1%} of {len(judged):,}")
    for kind in ("Explicit", "Anaphoric", "Implicit"):
        of_kind = [is_right for _, is_right, each in judged if each == kind]
        print(f"{kind}: {sum(of_kind) / len(of_kind):.1%} of {len(of_kind):,}")
    sure = [is_right for probability, is_right, _ in judged if probability >= SURE]
    print(f"sure: {len(sure) / len(judged):.1%} of the lines, {sum(sure) / len(sure):.1%} right")
    for in_marks, place in ((False, "not in quotation marks"), (True, "in quotation marks")):
        right, wrong = narrated[in_marks, False], narrated[in_marks, True]
        print(f"unmarked sentences {place}: {right / (right + wrong):.2%} of {right + wrong:,} are the narrator's")


if __name__ == "__main__":
    main()
