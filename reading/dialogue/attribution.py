"""Who speaks in a novel: its people, and a speaker with a probability for each quotation. English. Pure.

The answer is a proposal for people to check. The same text gives the same answer.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence

from reading.dialogue.chain import probabilities
from reading.dialogue.people import People
from reading.dialogue.proposal import FIRST_PERSON, Character, Dialogue, Line
from reading.dialogue.quotations import Quotation, Span, quotations
from reading.dialogue.speakers import Candidate, scenes
from reading.dialogue.tags import NARRATOR
from reading.dialogue.turns import read_turns
from reading.dialogue.weights import CALIBRATION, WEIGHTS
from reading.script.script import BlockKind, Script

_MOST_SHOWN = 100
"""Characters of a line that people see."""


def find_lines(script: Script) -> list[tuple[str, Quotation]]:
    """The quotations of a script with their ids, in order."""
    found = quotations(script.text, paragraphs(script))
    seen: Counter[str] = Counter()
    result: list[tuple[str, Quotation]] = []
    for quotation in found:
        words = "".join(filter(str.isalnum, script.text[quotation.start : quotation.end].casefold()))
        digest = hashlib.blake2s(words.encode(), digest_size=4).hexdigest()
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
    """Who says each quotation of the script. Linear in the length of the text."""
    found = find_lines(script)
    quoted = [quotation for _, quotation in found]
    people = People(script.text, quoted)
    reading = read_turns(script.text, paragraphs(script), quoted, people)
    speakers: dict[int, tuple[Candidate, float]] = {}
    for scene in scenes(reading, people):
        for turn, candidates, chances in zip(scene.turns, scene.candidates, probabilities(scene, WEIGHTS), strict=True):
            best = max(range(len(candidates)), key=lambda at: chances[at])
            for index in turn.quotations:
                speakers[index] = candidates[best], chances[best]
    lines = tuple(
        Line(
            id,
            quotation.start,
            quotation.end,
            candidate_name(speakers[index][0], people),
            round(_measured(speakers[index][1]), 2),
            _beginning(script.text, quotation),
        )
        for index, (id, quotation) in enumerate(found)
    )
    return Dialogue(_characters(lines, people), lines)


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


def _characters(lines: Sequence[Line], people: People) -> tuple[Character, ...]:
    named = {person.name: person for person in people.persons}
    counts = Counter(line.speaker for line in lines if line.speaker)
    return tuple(
        Character(
            name,
            tuple(named[name].names) if name in named else (name,),
            named[name].sex if name in named else "",
            count,
        )
        for name, count in counts.most_common()
    )
