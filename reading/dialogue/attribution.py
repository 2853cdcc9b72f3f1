"""Who speaks in a novel: its people, and a speaker with a probability for each quotation. English. Pure.

The answer is a proposal for people to check. The same text gives the same answer.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reading.dialogue.chain import probabilities
from reading.dialogue.people import People, sex_of
from reading.dialogue.proposal import FIRST_PERSON, Character, Dialogue, Line, Sex
from reading.dialogue.quotations import Quotation, Span, quotations, speeches
from reading.dialogue.scene import Candidate
from reading.dialogue.speakers import scenes
from reading.dialogue.tags import NARRATOR
from reading.dialogue.thoughts import thoughts
from reading.dialogue.turns import read_turns
from reading.script.script import BlockKind, Script

_LEARNT: dict[str, Any] = json.loads(Path(__file__).with_name("weights.json").read_text(encoding="utf-8"))

WEIGHTS: dict[str, float] = _LEARNT["weights"]
"""What each sign of a speaker is worth, in logarithms of odds. `training.dialogue.learn` learnt them from 18 novels of
the Project Dialogism Novel Corpus; `benchmarks/speech/speakers.py` names the other ten.
"""

CALIBRATION: tuple[tuple[float, float], ...] = tuple((chance, right) for chance, right in _LEARNT["calibration"])
"""Probabilities of the chain, and how often they were right on novels that the weights did not know."""

_MOST_SHOWN = 100
"""Characters of a line that people see."""
_SURE_THINKER = 0.9
_OTHER_VIEW = 0.7
_NAMED = 0.99
"""Probability of a speaker whose name stands before the speech."""


def find_lines(script: Script) -> list[tuple[str, Quotation]]:
    """The quotations and thoughts of a script, or the speeches of a play, with their ids, in order."""
    parts = paragraphs(script)
    if spoken := speeches(script.text, parts)[0]:
        return _with_ids(script.text, spoken)
    quoted = quotations(script.text, parts)
    return _with_ids(script.text, _in_order(quoted, thoughts(script.text, parts, quoted, script.italics)))


def _in_order(quoted: Sequence[Quotation], thought: Sequence[Quotation]) -> list[Quotation]:
    return sorted((*quoted, *thought), key=lambda each: each.start)


def _with_ids(text: str, found: Sequence[Quotation]) -> list[tuple[str, Quotation]]:
    """A thought has other ids than a quotation with the same words."""
    seen: Counter[str] = Counter()
    result: list[tuple[str, Quotation]] = []
    for quotation in found:
        words = "".join(filter(str.isalnum, text[quotation.start : quotation.end].casefold()))
        kind = b"thought" if quotation.is_thought else b""
        digest = hashlib.blake2s(words.encode(), digest_size=4, person=kind).hexdigest()
        seen[digest] += 1
        result.append((digest if seen[digest] == 1 else f"{digest}-{seen[digest]}", quotation))
    return result


def paragraphs(script: Script) -> list[Span]:
    """Paragraphs of a script, by its blocks and blank lines. Headings are left out."""
    return [
        (at, at + len(part))
        for block in script.blocks
        if block.kind is not BlockKind.HEADING
        for at, part in _parts(script.text, block.start, block.end)
        if part.strip()
    ]


def _parts(text: str, start: int, end: int) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    for part in text[start:end].split("\n\n"):
        blank = len(part) - len(part.lstrip())
        found.append((start + blank, part.strip()))
        start += len(part) + 2
    return found


def propose_speakers(script: Script) -> Dialogue:
    """Who says each quotation of the script, and who thinks each thought. Linear in the length of the text."""
    parts = paragraphs(script)
    spoken, names = speeches(script.text, parts)
    if spoken:
        lines = _lines(script.text, spoken, [(name, _NAMED) for name in names])
        return Dialogue(_characters(lines, {name: ((name,), sex_of(name)) for name in names}), lines)
    quoted = quotations(script.text, parts)
    speakers, people = _speakers(script.text, parts, quoted, quoted)
    found = _in_order(quoted, thoughts(script.text, parts, quoted, script.italics))
    if len(found) > len(quoted):
        # A thought takes no turn: the quotations are judged without it.
        said = iter(speakers)
        thinkers = _with_view(found, _speakers(script.text, parts, quoted, found)[0])
        speakers = [one if each.is_thought else next(said) for each, one in zip(found, thinkers, strict=True)]
    lines = _lines(script.text, found, speakers)
    return Dialogue(_characters(lines, {each.name: (each.names, each.sex) for each in people.persons}), lines)


def _speakers(
    text: str, parts: Sequence[Span], quoted: Sequence[Quotation], found: Sequence[Quotation]
) -> tuple[list[tuple[str, float]], People]:
    """Of each that is found, with its probability."""
    people = People(text, quoted)
    speakers = [("", 0.0)] * len(found)
    for scene in scenes(read_turns(text, parts, found, people), people):
        for turn, candidates, chances in zip(scene.turns, scene.candidates, probabilities(scene, WEIGHTS), strict=True):
            best = max(range(len(candidates)), key=lambda at: chances[at])
            for index in turn.quotations:
                speakers[index] = candidate_name(candidates[best], people), _measured(chances[best])
    return speakers, people


def _with_view(found: Sequence[Quotation], speakers: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """An uncertain thought is the nearest sure thinker's: a point of view lasts for pages."""
    sure = [at for at, each in enumerate(found) if each.is_thought and speakers[at][1] >= _SURE_THINKER]
    places = [found[at].start for at in sure]
    result = list(speakers)
    for at, each in enumerate(found):
        if sure and each.is_thought and speakers[at][1] < _SURE_THINKER:
            near = bisect_right(places, each.start)
            nearest = min(sure[max(0, near - 1) : near + 1], key=lambda other: abs(found[other].start - each.start))
            name, probability = speakers[nearest][0], speakers[at][1]
            result[at] = name, probability if name == speakers[at][0] else _OTHER_VIEW
    return result


def _lines(text: str, found: Sequence[Quotation], speakers: Sequence[tuple[str, float]]) -> tuple[Line, ...]:
    """speakers: of each quotation, with its probability."""
    return tuple(
        Line(id, each.start, each.end, name, round(probability, 2), _beginning(text, each), each.is_thought)
        for (id, each), (name, probability) in zip(_with_ids(text, found), speakers, strict=True)
    )


def _measured(probability: float) -> float:
    """How often a guess of this probability of the chain was right on novels that its weights did not know."""
    at = min(max(1, bisect_right(CALIBRATION, (probability, 1.0))), len(CALIBRATION) - 1)
    (low, first), (high, last) = CALIBRATION[at - 1], CALIBRATION[at]
    return first + (last - first) * (probability - low) / (high - low)


def _beginning(text: str, quotation: Quotation) -> str:
    return " ".join(text[quotation.start : min(quotation.end, quotation.start + _MOST_SHOWN)].split())


def candidate_name(candidate: Candidate, people: People) -> str:
    if candidate.person >= 0:
        return people.persons[candidate.person].name
    return FIRST_PERSON if candidate.noun == NARRATOR else candidate.noun


def _characters(lines: Sequence[Line], known: Mapping[str, tuple[Sequence[str], Sex]]) -> tuple[Character, ...]:
    """known: of a name, the other names of that person and the sex."""
    counts = Counter(line.speaker for line in lines if line.speaker)
    return tuple(
        Character(name, tuple(names), sex, count)
        for name, count in counts.most_common()
        for names, sex in [known.get(name, ((name,), ""))]
    )
