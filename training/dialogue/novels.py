"""Marked novels as the attribution of speakers sees them: scenes, and which candidates are right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.speech.speakers import UNSEEN, Novel
from reading.dialogue.attribution import candidate_name, paragraphs
from reading.dialogue.people import People
from reading.dialogue.proposal import Character
from reading.dialogue.quotations import quotations
from reading.dialogue.scene import Candidate, Scene, pair_features
from reading.dialogue.speakers import scenes
from reading.dialogue.turns import Turn, read_turns
from reading.script.script import plain_script

MOST_TURNS = 30
"""Longer scenes are cut, so that many of them fit one tensor."""


@dataclass(frozen=True, slots=True)
class Example:
    """A turn. candidates: of each, which characters of the novel are the same person. unary: signs of each candidate.

    pairs: signs of "speaks again" and of "speaks as two turns before". right: candidates that are the true speaker;
    none if no mark or no candidate fits. lines: the true speaker and the kind of each quotation of the turn.
    """

    candidates: Sequence[Candidate]
    meant: Sequence[str]
    unary: Sequence[Sequence[str]]
    pairs: tuple[Sequence[str], Sequence[str]]
    right: frozenset[int]
    lines: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Marked:
    """A novel's scenes."""

    name: str
    scenes: Sequence[Sequence[Example]]


def development_novels(corpus: Path) -> list[Path]:
    """Folders of the novels that are not for the last test."""
    return [folder for folder in sorted((corpus / "data").iterdir()) if folder.name not in UNSEEN]


def read_marked(folder: Path) -> Marked:
    novel = Novel(folder)
    script = plain_script(novel.text)
    quoted = quotations(script.text, paragraphs(script))
    people = People(script.text, quoted)
    reading = read_turns(script.text, paragraphs(script), quoted, people)
    names = _Names(novel, people)
    lines = dict(novel.marked([(each.start, each.end) for each in quoted]))
    found = [
        [_example(scene, at, turn, names, lines) for at, turn in enumerate(scene.turns)]
        for scene in scenes(reading, people)
    ]
    return Marked(folder.name, [part for scene in found for part in _parts(scene)])


def _parts(scene: list[Example]) -> Iterator[list[Example]]:
    for start in range(0, len(scene), MOST_TURNS):
        yield scene[start : start + MOST_TURNS]


class _Names:
    """Which character of the corpus a candidate is."""

    def __init__(self, novel: Novel, people: People) -> None:
        self._novel = novel
        self._people = people
        self._known: dict[str, str] = {}

    def meant(self, candidate: Candidate) -> str:
        name = candidate_name(candidate, self._people)
        if name not in self._known:
            person = self._people.persons[candidate.person] if candidate.person >= 0 else None
            character = Character(name, tuple(person.names) if person else (name,), candidate.sex, 0)
            self._known[name] = self._novel.meant(character)
        return self._known[name]


def _example(scene: Scene, at: int, turn: Turn, names: _Names, marks: dict[int, tuple[str, str]]) -> Example:
    lines = [marks[index] for index in turn.quotations if index in marks]
    candidates = scene.candidates[at]
    meant = [names.meant(each) for each in candidates]
    speaker = Counter(speaker for speaker, _ in lines).most_common(1)[0][0] if lines else ""
    right = frozenset(i for i, name in enumerate(meant) if speaker and name == speaker)
    return Example(candidates, meant, scene.unary[at], pair_features(scene, at), right, lines)
