"""Where sentences end. Pure.

They are found by nupunkt in scripts that put spaces between words, and by a rule of our own for Chinese and Japanese; a
boundary is taken back when what follows starts in lower case or with a dash, because a pause inside a sentence is heard
and a missing one is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Protocol, cast

from storage.estimates import SYLLABIC
from worker.text.pieces import Ending, Piece, stripped_piece

_CJK_END = re.compile(rf"(?:[。！？｡]|(?<=[{SYLLABIC}])[!?…])[。！？｡!?…]*[」』）】》〉〕］”’\"')\]]*")
_QUOTATIVE = re.compile(r"と|って|など|[、，」』）】》〉〕］]")
"""After a closing quote these go on with the sentence that holds the quotation."""
_NO_SENTENCE_START = re.compile(r"[-‐-―−~,;:.!?…、，。；：！？)\]}»”’]")


class _Tokenizer(Protocol):
    def span_tokenize(self, text: str) -> Iterator[tuple[int, int]]: ...


def sentences(text: str, start: int, end: int) -> Iterator[Piece]:
    """The sentences of the paragraph [start, end); the last one ends the paragraph."""
    paragraph = text[start:end]
    cuts = sorted({*_spaced_ends(paragraph), *_cjk_ends(paragraph)} - {0, len(paragraph)})
    bounds = [0, *cuts, len(paragraph)]
    for number, (first, last) in enumerate(pairwise(bounds)):
        ending = Ending.PARAGRAPH if number == len(cuts) else Ending.SENTENCE
        yield stripped_piece(text, start + first, start + last, ending)


def _spaced_ends(paragraph: str) -> Iterator[int]:
    for _, end in _nupunkt().span_tokenize(paragraph):
        end = _behind_whitespace(paragraph, end)
        if end < len(paragraph) and not _continues(paragraph, end):
            yield end


def _cjk_ends(paragraph: str) -> Iterator[int]:
    for match in _CJK_END.finditer(paragraph):
        is_quote = match.group()[-1] in "」』）】》〉〕］”’"
        if is_quote and _QUOTATIVE.match(paragraph, match.end()):
            continue
        end = _behind_whitespace(paragraph, match.end())
        if end < len(paragraph) and not _NO_SENTENCE_START.match(paragraph, end):
            yield end


def _continues(paragraph: str, position: int) -> bool:
    return paragraph[position].islower() or _NO_SENTENCE_START.match(paragraph, position) is not None


def _behind_whitespace(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position


@cache
def _nupunkt() -> _Tokenizer:
    """Loaded at first use: the import and the model take tens of milliseconds."""
    import nupunkt

    return cast("_Tokenizer", nupunkt.load_default_model())
