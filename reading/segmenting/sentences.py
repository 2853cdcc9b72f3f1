"""Where sentences end. Pure.

In scripts with spaces between words, nupunkt finds most ends, and a few rules find those that it misses. In Chinese and
Japanese, one rule finds all ends. An end is taken back where the sentence goes on: before a small letter, after an
abbreviation, where a quotation is followed by who said it. A pause inside a sentence is more noticeable than a missing
one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Protocol, cast

from reading.estimates import SYLLABIC
from reading.languages.abbreviations import OPENERS
from reading.languages.full_stops import LOOK_BACK, is_abbreviation
from reading.languages.tables import one_of
from reading.segmenting.pieces import Piece, StretchEnd, stripped_piece

_CJK_CLOSING = "」』）】》〉〕］”’\"')\\]"
_CJK_END = re.compile(
    rf"(?:[。！？｡]|(?<=[{SYLLABIC}])[!?])[。！？｡!?…]*[{_CJK_CLOSING}]*|(?<=[{SYLLABIC}])…+[{_CJK_CLOSING}]+"
)
_HANGUL = re.compile(r"[가-힣]")
_QUOTATIVE = re.compile(r"と|って|など|[、，」』）】》〉〕］]")
"""After a closing quote these go on with the sentence that holds the quotation."""

_NO_SENTENCE_START = re.compile(r"[−~,;:.!?…、，。；：！？)\]}”’]|»(?!\s*[^\W\d_])")
"""» closes in most languages and opens in German, where a word follows it at once."""

_DASH = re.compile(r"[-‐-―]+\s*")
_CLOSING = r"[\"'”’»“«)\]]"
"""« closes in German, where no space stands before it."""

_STOPS = r"(?<![.!?…])[.!?…]++"
"""A whole run of them: from each of a run on, the time would grow with the square of the run."""

_SURE_END = re.compile(
    rf"""
      {_STOPS}(?:\s?»|["'”’“«)\]])+\s++(?=[“"«„»‘]?\s?[^\W\d_])  # a quotation is over
    | {_STOPS}{_CLOSING}*+\s++(?=[¿¡])
    | (?<=[가-힣])[.!?](?![.…]){_CLOSING}*+\s++
    | (?<=[\w-]{{3}}[^\W\d_]\.)\s++(?=[^\W\d_]{{2}})
    | (?<=\b[Nn]o\.)\s++(?=[^\W\d_])
    | (?<=[^\W_]\.)\s++(?=(?:{one_of(OPENERS)})\b)
    | (?<=[^\W_][.!?…])\s++(?=[“"«„»‘]\s?[^\W\d_])
    | (?<=[^\W_][.!?…])\s++(?=—\s?[^\W\d_])
    """,
    re.VERBOSE,
)
_QUOTE_CLOSED = re.compile(r"[!?.…,][\"”’»“]$")
_QUOTE_ENDED = re.compile(r"(?<!\.)\.[\"”’»“]$")
"""In English a comma stands here if it goes on with who said it; in Korean it does not."""

_ENGLISH = re.compile(r"[A-Za-z]")
_SPEECH_TAG = re.compile(
    r"[^\W\d_][^.!?\n]{0,24}?(?:\b(?:said|asked|cried|replied|answered|shouted|whispered|exclaimed|murmured)\b"
    r"|(?:물었|말했|대답했|외쳤|소리쳤|속삭였|중얼거렸))"
)


class _Tokenizer(Protocol):
    def span_tokenize(self, text: str) -> Iterator[tuple[int, int]]: ...


def sentences(text: str, start: int, end: int) -> Iterator[Piece]:
    """The sentences of the paragraph [start, end); the last one ends the paragraph."""
    paragraph = text[start:end]
    cuts = sorted({*_spaced_ends(paragraph), *_cjk_ends(paragraph)} - {0, len(paragraph)})
    bounds = [0, *cuts, len(paragraph)]
    for number, (first, last) in enumerate(pairwise(bounds)):
        ending = StretchEnd.PARAGRAPH if number == len(cuts) else StretchEnd.SENTENCE
        yield stripped_piece(text, start + first, start + last, ending)


def _spaced_ends(paragraph: str) -> Iterator[int]:
    found = [end for _, end in _nupunkt().span_tokenize(paragraph)]
    found += [match.end() for match in _SURE_END.finditer(paragraph)]
    for end in found:
        end = _behind_whitespace(paragraph, end)
        if end < len(paragraph) and not _continues(paragraph, end):
            yield end


def _cjk_ends(paragraph: str) -> Iterator[int]:
    for match in _CJK_END.finditer(paragraph):
        if _HANGUL.match(paragraph, match.start() - 1):
            # Korean puts spaces between words.
            continue
        is_quote = match.group()[-1] in "」』）】》〉〕］”’"
        if is_quote and _QUOTATIVE.match(paragraph, match.end()):
            continue
        end = _behind_whitespace(paragraph, match.end())
        if end < len(paragraph) and not _NO_SENTENCE_START.match(paragraph, end):
            yield end


def _continues(paragraph: str, position: int) -> bool:
    """Whether the sentence before `position` goes on after it; it does where no space stands between."""
    if not paragraph[position - 1].isspace():
        return True
    if _NO_SENTENCE_START.match(paragraph, position):
        return True
    dash = _DASH.match(paragraph, position)
    first = dash.end() if dash else position
    if first < len(paragraph) and paragraph[first] in "¿¡":
        first += 1
    if first >= len(paragraph) or paragraph[first].islower():
        return True
    if dash and not paragraph[first].isupper():
        return True
    before = paragraph[max(0, position - LOOK_BACK - 8) : position].rstrip()
    if _QUOTE_CLOSED.search(before) and _SPEECH_TAG.match(paragraph, position):
        return not (_QUOTE_ENDED.search(before) and _ENGLISH.match(paragraph, position))
    return is_abbreviation(before, paragraph[position : position + LOOK_BACK])


def _behind_whitespace(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position


@cache
def _nupunkt() -> _Tokenizer:
    """Loaded at first use: the import and the model take tens of milliseconds."""
    import nupunkt

    return cast("_Tokenizer", nupunkt.load_default_model())
