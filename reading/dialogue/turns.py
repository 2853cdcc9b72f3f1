"""The turns of a dialogue: one speaker's words in a paragraph, with what its text says of them. Pure."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from reading.dialogue.people import Mention, People
from reading.dialogue.proposal import Sex
from reading.dialogue.quotations import Quotation, Span
from reading.dialogue.tags import NO_HINT, Hint, HintKind, Token, action, actors, after, before, leads_in, tokens
from reading.languages.tables import table
from reading.languages.vocabulary import PERSON_NOUNS

Roles = Mapping[str, Counter[int]]
"""A noun in small letters, to how often the text gives it to each person."""

_NOUN = rf"({'|'.join(sorted(PERSON_NOUNS, key=len, reverse=True))})"
_OWNER = r"(?:his|her|my|their|our|your|the|an?|this|that|old|young|poor)"
_BEFORE = re.compile(rf"\b{_OWNER}\s(?:[a-z-]{{1,15}}\s){{0,2}}{_NOUN},?\s$", re.IGNORECASE)
_AFTER = re.compile(rf"(?:,|\s(?:was|is))\s{_OWNER}\s(?:[a-z-]{{1,15}}\s){{0,2}}{_NOUN}\b")
_TITLES = table(
    """
    dr=doctor|prof=professor|auntie=aunt|granny=grandmother|grandpa=grandfather|papa=father|mamma=mother
    mama=mother
    """
)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_MARGIN = 50
"""Characters before a name that can tell what the person is."""


@dataclass(slots=True)
class Turn:
    """quotations: indices. hints: the strongest first.

    last: its last paragraph, if the quotation of `paragraph` continues in others.

    called, mentioned: people whom the words address, or only name. beside: people whom the narration of the paragraph
    names. addresses: the sex that a `sir` or `madam` shows. asks: it ends with a question.
    words: what is said, in small letters.
    """

    paragraph: int
    last: int
    quotations: list[int]
    hint: Hint = NO_HINT
    second: Hint = NO_HINT
    called: frozenset[int] = frozenset()
    mentioned: frozenset[int] = frozenset()
    beside: frozenset[int] = frozenset()
    addresses: Sex = ""
    asks: bool = False
    words: Sequence[str] = ()


_TO_MEN = frozenset({"sir", "father", "papa", "uncle", "mister"})
_ADDRESS = re.compile(
    r"[,!.?—“\"‘'-] ?(sir|father|papa|uncle|mister|madam|ma['’]am|mother|mamma|mama|aunt|auntie|miss)"
    r"(?=[,.!?;—'\"”’-])",
    re.IGNORECASE,
)
_MOST_NARRATED = 20
"""Mentions of a paragraph's narration that count: the last ones."""


@dataclass(frozen=True, slots=True)
class _Around:
    """What the turns of a paragraph share. mentions: all of the paragraph. narrated: people of its narration."""

    mentions: Sequence[Mention]
    narrated: frozenset[int]
    lead_in: Hint | None


@dataclass(slots=True)
class Reading:
    """The text as attribution reads it.

    roles: of the people. first_named: for each person the paragraph that has the name first.

    narrated: for each paragraph the people whom its narration names, in order.

    subjects: who acts in the last sentence of a paragraph's narration.

    actors: for each paragraph the named people who act in its narration, in order.
    """

    turns: list[Turn]
    roles: Roles
    first_named: dict[int, int] = field(default_factory=dict[int, int])
    narrated: list[list[int]] = field(default_factory=list[list[int]])
    subjects: list[Hint | None] = field(default_factory=list["Hint | None"])
    actors: list[list[int]] = field(default_factory=list[list[int]])


def read_turns(text: str, paragraphs: Sequence[Span], found: Sequence[Quotation], people: People) -> Reading:
    starts = [mention.start for mention in people.mentions]
    by_paragraph: dict[int, list[int]] = {}
    for index, quotation in enumerate(found):
        by_paragraph.setdefault(quotation.paragraph, []).append(index)
    reading = Reading([], find_roles(text, people))
    for number, (start, end) in enumerate(paragraphs):
        quoted = by_paragraph.get(number, [])
        inside = people.mentions[bisect_left(starts, start) : bisect_left(starts, end)]
        for mention in inside:
            reading.first_named.setdefault(mention.person, number)
        narrated = [mention.person for mention in inside if not mention.in_quotation][-_MOST_NARRATED:]
        reading.narrated.append(narrated)
        gaps = [tokens(text, a, b, people, starts) for a, b in _gaps(start, end, [found[i] for i in quoted])]
        reading.subjects.append(before(gaps[-1]))
        reading.actors.append([person for gap in gaps for person in actors(gap)][-_MOST_NARRATED:])
        if quoted:
            lead_in = _lead_in(text, paragraphs, number, by_paragraph, reading) if len(gaps[0]) <= 1 else None
            turns = [*_turns(text, number, quoted, found, gaps, _Around(inside, frozenset(narrated), lead_in))]
            if found[quoted[0]].continues and reading.turns and _agrees(turns[0].hint, reading.turns[-1].hint):
                _continue(reading.turns[-1], turns.pop(0))
            reading.turns += turns
    return reading


def _continue(turn: Turn, more: Turn) -> None:
    """The turn goes on in the next paragraph."""
    turn.last = more.last
    turn.quotations += more.quotations
    _take(turn, [more.hint, more.second])
    turn.called |= more.called
    turn.mentioned = (turn.mentioned | more.mentioned) - turn.called
    turn.beside |= more.beside
    turn.addresses = turn.addresses or more.addresses
    turn.asks = more.asks
    turn.words = [*turn.words, *more.words]


def _gaps(start: int, end: int, quoted: Sequence[Quotation]) -> Iterator[Span]:
    at = start
    for quotation in quoted:
        yield at, quotation.start
        at = quotation.end
    yield at, end


def _lead_in(
    text: str, paragraphs: Sequence[Span], number: int, by_paragraph: dict[int, list[int]], reading: Reading
) -> Hint | None:
    """The paragraph before names the speaker if it ends with a colon or comma, or is only narration."""
    if number == 0 or ((number - 1) in by_paragraph and text[paragraphs[number - 1][1] - 1] not in ":,"):
        return None
    subject = reading.subjects[number - 1]
    if subject is None:
        return None
    ends = text[paragraphs[number - 1][0] : paragraphs[number - 1][1]].rstrip(" _*-—")[-1:]
    kind = HintKind.TAG if ends in (":", ",") else HintKind.LEAD_IN
    return replace(subject, kind=kind)


def _turns(
    text: str,
    number: int,
    quoted: Sequence[int],
    found: Sequence[Quotation],
    gaps: Sequence[Sequence[Token]],
    around: _Around,
) -> Iterator[Turn]:
    current: Turn | None = None
    for place, index in enumerate(quoted):
        hints = list(_hints(place, gaps))
        tag = next((hint for hint in hints if hint.kind is HintKind.TAG), None)
        if current is not None and (tag is None or _agrees(tag, current.hint)):
            current.quotations.append(index)
            _take(current, hints)
        else:
            if current is not None:
                yield _finished(text, current, found, around)
            current = Turn(number, number, [index])
            _take(current, hints)
            if place == 0 and around.lead_in is not None:
                _take(current, [around.lead_in])
    if current is not None:
        yield _finished(text, current, found, around)


def _hints(place: int, gaps: Sequence[Sequence[Token]]) -> Iterator[Hint]:
    """What the narration behind and before the quotation at `place` says."""
    behind, ahead = gaps[place + 1], gaps[place]
    found = [after(behind), before(ahead) if len(ahead) > 1 else None]
    if leads_in(ahead):
        found.reverse()
    if place == 0 and len(ahead) > 1:
        found.append(action(ahead))
    yield from (hint for hint in found if hint is not None)


def _agrees(tag: Hint, other: Hint) -> bool:
    """Two tags can be one speaker's."""
    if tag.kind is not HintKind.TAG or other.kind is not HintKind.TAG:
        return True
    if tag.person is not None and other.person is not None:
        return tag.person == other.person
    if tag.pronoun and other.pronoun:
        return tag.pronoun == other.pronoun
    return not (tag.sex and other.sex and tag.sex != other.sex)


def _take(turn: Turn, hints: Sequence[Hint]) -> None:
    for hint in hints:
        if (hint.kind, hint.person is not None) > (turn.hint.kind, turn.hint.person is not None):
            turn.second, turn.hint = turn.hint, hint
        elif (hint.kind, hint.person is not None) > (turn.second.kind, turn.second.person is not None):
            turn.second = hint


def _finished(text: str, turn: Turn, found: Sequence[Quotation], around: _Around) -> Turn:
    first, last = found[turn.quotations[0]].start, found[turn.quotations[-1]].end
    start = bisect_left(around.mentions, first, key=lambda mention: mention.start)
    end = bisect_left(around.mentions, last, key=lambda mention: mention.start)
    words = [mention for mention in around.mentions[start:end] if mention.in_quotation]
    turn.called = frozenset(mention.person for mention in words if mention.is_called)
    turn.mentioned = frozenset(mention.person for mention in words) - turn.called
    turn.beside = around.narrated
    said = [text[found[index].start : found[index].end] for index in turn.quotations]
    calls = {match[1].lower() for words in said for match in _ADDRESS.finditer(words)}
    turn.addresses = "male" if calls & _TO_MEN else "female" if calls else ""
    turn.words = [word for words in said for word in _WORD.findall(words.lower())]
    turn.asks = said[-1].rstrip("\"'”’ _").endswith("?")
    return turn


def find_roles(text: str, people: People) -> Roles:
    """What people are besides their names: `her aunt, Mrs. Norris` is an aunt, `Inspector Lee` one. Linear."""
    roles: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for mention in people.mentions:
        start = max(0, mention.start - _MARGIN)
        for match in (_BEFORE.search(text[start : mention.start]), _AFTER.match(text, mention.end)):
            if match is not None:
                roles[match[1].lower()][mention.person] += 1
        title = text[mention.start : mention.end].split()[0].rstrip(".").lower()
        if (noun := _TITLES.get(title, title)) in PERSON_NOUNS:
            roles[noun][mention.person] += 1
    return roles
