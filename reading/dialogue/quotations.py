"""Finds what is said: in quotation marks (double, single, dashes), or in the speeches of a play. English. Pure.

One kind of mark is the book's own: the one that begins most paragraphs. Other marks inside it belong to what is said.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reading.languages.vocabulary import SPEECH_VERBS

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Quotation:
    """[start, end) with its marks. paragraph: index of its paragraph.

    continues: it continues the quotation of the paragraph before, which has no closing mark.
    """

    start: int
    end: int
    paragraph: int
    continues: bool = False
    is_thought: bool = False


_VERBS = "|".join(sorted(SPEECH_VERBS))
_BEGINNING = re.compile(r"([\"“«'‘—–―])(?=\S)")
_STRAIGHT_SINGLE = re.compile(
    r"(?<![\w.,;:!?])'(?!(?:tis|twas|twere|twill|em|ere|cause|bout|til|im|un|s)\b)(?=[\w—…\"“.])"
)
_CURLY_SINGLE = re.compile(r"(?<!\w)‘(?=\S)")
_CLOSING_SINGLE = re.compile(r"(?<=[.,;:!?…—\-)\"”])['’](?!\w)|['’](?=\s{0,4}$)")
_DASH_TAG = re.compile(rf"(?<=[,.!?…])\s{{1,4}}(?:{_VERBS})\s[^,.;:!?…—]{{0,200}}(?:[,.;:…]|$)")
_ENDS_AS_SPEECH = re.compile(r"[?!…—\-][_*\s)]{0,8}$")
_ENDS_AS_CLAUSE = re.compile(r"[.,;:][_*\s)]{0,8}$")
_BEFORE_SPEECH = re.compile(r"[.,;:!?…—\-)\]][_*\s]{0,8}$")
_VERB_BEFORE = re.compile(rf"\b(?:{_VERBS})\s{{0,4}}$", re.IGNORECASE)
_TAG_AFTER = re.compile(rf"\s{{0,4}}(?:--|—|(?:{_VERBS})\b|(?:\w{{1,20}} ){{1,2}}(?:{_VERBS})\b)")

_MOST_WORDS_OF_A_TERM = 3
_MARGIN = 24
"""How many characters around a quotation decide whether it is speech."""


def quotations(text: str, paragraphs: Sequence[Span]) -> list[Quotation]:
    """In order. What is only a term in marks (`the "Boots"`) is not among them."""
    mark = book_mark(text, paragraphs)
    if not mark:
        return []
    found: list[Quotation] = []
    is_open = False
    for index, (start, end) in enumerate(paragraphs):
        spans, is_open_after = _in_paragraph(text, start, end, mark)
        for number, (first, last) in enumerate(spans):
            if _is_speech(text, start, first, last):
                continues = is_open and number == 0 and not text[start:first].strip()
                found.append(Quotation(first, last, index, continues))
        if text[start:end].strip():
            is_open = is_open_after
    return found


def book_mark(text: str, paragraphs: Sequence[Span]) -> str:
    """The opening mark that the text uses for speech; "" for none."""
    begins: Counter[str] = Counter()
    for start, end in paragraphs:
        if match := _BEGINNING.match(text, start, end):
            begins["—" if match[1] in "—–―" else match[1]] += 1
    for mark, least in (("“", 1), ('"', 1), ("«", 1), ("‘", 1), ("'", 1), ("—", 3)):
        if begins[mark] >= max(least, 0.2 * sum(begins.values())):
            return mark
    inside = {mark: text.count(f" {mark}") for mark in '“"«‘'}
    best = max(inside, key=lambda mark: inside[mark])
    return best if inside[best] else ""


def _in_paragraph(text: str, start: int, end: int, mark: str) -> tuple[list[Span], bool]:
    """Spans with their marks, and whether the last one lacks its closing mark."""
    if mark == "—":
        return list(_after_dash(text, start, end)), False
    if mark in "'‘":
        return _single(text, start, end, _CURLY_SINGLE if mark == "‘" else _STRAIGHT_SINGLE)
    return _double(text, start, end)


def _double(text: str, start: int, end: int) -> tuple[list[Span], bool]:
    spans: list[Span] = []
    first = -1
    for match in _DOUBLE_MARKS.finditer(text, start, end):
        at, sign = match.start(), match[0]
        after = text[at + 1 : at + 2]
        is_free = at == start or text[at - 1] in _BEFORE_OPENING
        opens = sign in "“«" or (sign == '"' and is_free and after.strip() != "")
        if first < 0:
            only_closes = sign in "”»" or (sign == '"' and not is_free and not after.strip())
            if not only_closes:
                first = at
        elif (opens and sign != '"') or (opens and at > start and text[at - 1] in " \n" and after.isalpha()):
            spans.append((first, len(text[first:at].rstrip()) + first))
            first = at
        else:
            spans.append((first, at + 1))
            first = -1
    if first >= 0:
        spans.append((first, start + len(text[start:end].rstrip())))
    return [span for span in spans if span[1] - span[0] > 1], first >= 0


_BEFORE_OPENING = " \t\n([—-_*"
_DOUBLE_MARKS = re.compile('["“”«»]')


def _single(text: str, start: int, end: int, opening: re.Pattern[str]) -> tuple[list[Span], bool]:
    spans: list[Span] = []
    at = start
    while match := opening.search(text, at, end):
        close = _CLOSING_SINGLE.search(text, match.end(), end)
        if close is None:
            spans.append((match.start(), start + len(text[start:end].rstrip())))
            return spans, True
        spans.append((match.start(), close.end()))
        at = close.end()
    return spans, False


def _after_dash(text: str, start: int, end: int) -> Iterator[Span]:
    """A paragraph that begins with a dash is speech, but for its tags (`, said Mary,`)."""
    match = _BEGINNING.match(text, start, end)
    if match is None or match[1] not in "—–―":
        return
    at = match.start(1)
    for tag in _DASH_TAG.finditer(text, at, end):
        yield at, tag.start()
        at = tag.end() + (text[tag.end() : tag.end() + 1] == " ")
    if text[at:end].strip():
        yield at, start + len(text[start:end].rstrip())


def _is_speech(text: str, start: int, first: int, last: int) -> bool:
    """A short term inside a sentence is not: it has no punctuation inside, and none before it."""
    inside = text[first + 1 : last].rstrip("\"”»'’")
    before = text[max(start, first - _MARGIN) : first]
    if _ENDS_AS_SPEECH.search(inside[-_MARGIN:]) or len(inside.split()) > 2 * _MOST_WORDS_OF_A_TERM:
        return True
    if _TAG_AFTER.match(text, last) or _VERB_BEFORE.search(before):
        return True
    if first - start < _MARGIN and not before.strip(" _*\n"):
        return True
    ends = _ENDS_AS_CLAUSE.search(inside[-_MARGIN:]) is not None
    return ends and (bool(_BEFORE_SPEECH.search(before)) or len(inside.split()) > _MOST_WORDS_OF_A_TERM)


_LABEL = re.compile(
    r"[_*]{0,2}(?P<name>(?:(?i:mrs?|dr|st|rev|prof|capt|sgt|mme|mlle)\.[ ])?"
    r"[A-Z][\w’'-]{0,30}(?:[ ][A-Z0-9][\w’'-]{0,30}){0,3})(?:[ ]?[\[(][^\])\n]{0,200}[\])])?"
    r"(?:[.:][_*]{0,2}|[_*]{0,2}[.:]|(?<=[\])]))(?:[ \n]|$)(?:\([^)\n]{0,200}\))?"
)
_NEXT_SPEECH = re.compile(r"\n[ \t]{0,8}(?=[A-Z]{2}[A-Z0-9 .’'-]{0,60}(?:[ ]?[\[(][^\])\n]{0,200}[\])])?[.:][ \n])")
_DIRECTION = re.compile(r"\[[^\]]{0,500}\]")
_LEAST_SHARE = 0.4
"""Of the paragraphs: those of a play begin so."""
_LEAST_SPEECHES = 2
"""Of a name: one who speaks once is no sign of a play."""


def speeches(text: str, paragraphs: Sequence[Span]) -> tuple[list[Quotation], list[str]]:
    """What is spoken in a play, without its stage directions, and by whom; nothing for other texts."""
    parts = [(number, *span) for number, each in enumerate(paragraphs) for span in _cut(text, *each)]
    labels = [_LABEL.match(text, start, end) for _, start, end in parts]
    counts = Counter(label["name"] for label in labels if label)
    recurring = {name for name, count in counts.items() if count >= _LEAST_SPEECHES}
    if len(recurring) < 2 or sum(counts[name] for name in recurring) < _LEAST_SHARE * len(parts):
        return [], []
    found: list[Quotation] = []
    names: list[str] = []
    for label, (index, _, end) in zip(labels, parts, strict=True):
        if label is None or not (label["name"] in recurring or label["name"].isupper()):
            continue
        for number, (first, last) in enumerate(_spoken(text, label.end(), end)):
            found.append(Quotation(first, last, index, number > 0))
            names.append(_written(label["name"]))
    return found, names


def _cut(text: str, start: int, end: int) -> Iterator[Span]:
    """A paragraph, cut before each line that begins with a name in capitals."""
    for match in _NEXT_SPEECH.finditer(text, start + 1, end):
        yield start, match.start()
        start = match.end()
    yield start, end


def _spoken(text: str, start: int, end: int) -> Iterator[Span]:
    """What stands between stage directions."""
    at = start
    for direction in (*_DIRECTION.finditer(text, start, end), None):
        stop = direction.start() if direction else end
        spoken = text[at:stop]
        if any(map(str.isalnum, spoken)):
            yield at + len(spoken) - len(spoken.lstrip()), at + len(spoken.rstrip())
        at = direction.end() if direction else end


def _written(label: str) -> str:
    """`LADY MACBETH` as `Lady Macbeth`."""
    return label.title().replace("’S", "’s").replace("'S", "'s") if label.isupper() else label
