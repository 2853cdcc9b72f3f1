"""Dictionaries and normalisation on a script: which of its stretches are spoken differently. Pure."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from reading.estimates import SYLLABIC
from reading.languages.full_stops import LOOK_BACK, is_abbreviation
from reading.script.script import Replacement, Script, VoicedSpan
from reading.spelling.rules import PronunciationRule

_TOKEN = re.compile(rf"[{SYLLABIC}]|[^\W{SYLLABIC}]+|[^\w\s]")
"""A word, a mark, or one character of a script that is written without spaces."""

_WORD_GOES_ON = re.compile(rf"[^\W{SYLLABIC}]")

Respell = Callable[[str, int, int], Iterable[Replacement]]
"""Finds replacements in text[start:end], in order and without overlaps."""


@dataclass(frozen=True, slots=True)
class _Entry:
    pattern: re.Pattern[str]
    alias: str
    num_chars: int


class Lexicon:
    """Rules of one dictionary, ready to be looked up by the first word of what they replace."""

    def __init__(self, rules: Sequence[PronunciationRule]) -> None:
        self._by_first: dict[str, list[_Entry]] = defaultdict(list)
        for rule in rules:
            first = _TOKEN.match(rule.grapheme)
            if first is None:
                raise ValueError(f"a rule for {rule.grapheme!r}, which begins with no word and no mark")
            self._by_first[first.group().casefold()].append(_entry(rule))
        for entries in self._by_first.values():
            entries.sort(key=lambda entry: -entry.num_chars)
        self.most_words = max((len(rule.grapheme.split()) for rule in rules), default=0)
        """Of what one rule replaces."""

    def may_begin(self, word: str) -> bool:
        """Whether a rule may apply from somewhere in the word on."""
        return any(token.group().casefold() in self._by_first for token in _TOKEN.finditer(word))

    def __call__(self, text: str, start: int, end: int) -> Iterator[Replacement]:
        """Where rules apply; the longest counts."""
        at = start
        for token in _TOKEN.finditer(text, start, end):
            if token.start() < at:
                continue
            for entry in self._by_first.get(token.group().casefold(), ()):
                match = entry.pattern.match(text, token.start(), end)
                if match is not None and not _is_inside_word(text, match.end()):
                    at = match.end()
                    yield Replacement(match.start(), match.end(), entry.alias)
                    break


def respelt(script: Script, respell: Respell, wants: Callable[[VoicedSpan], bool] = lambda _: True) -> Script:
    """The script with more replacements; what is replaced already stays as it is. The first word of a sentence keeps
    its capital.

    wants: whether a span is to be looked at.
    """
    known = script.replacements
    starts = [each.start for each in known]
    found: list[Replacement] = []
    for block in script.blocks:
        for span in block.spans:
            if wants(span):
                inside = known[bisect_left(starts, span.start) : bisect_left(starts, span.end)]
                for start, end in _gaps(span, inside):
                    new = respell(script.text, start, end)
                    found += (in_sentence_case(script.text, block.start, each) for each in new)
    return replace(script, replacements=tuple(sorted((*known, *found), key=lambda each: each.start)))


def _gaps(span: VoicedSpan, replacements: Sequence[Replacement]) -> Iterator[tuple[int, int]]:
    start = span.start
    for each in replacements:
        if start < each.start:
            yield start, each.start
        start = each.end
    if start < span.end:
        yield start, span.end


def _entry(rule: PronunciationRule) -> _Entry:
    words = r"\s+".join(re.escape(word) for word in rule.grapheme.split())
    flags = re.NOFLAG if rule.case_sensitive else re.IGNORECASE
    return _Entry(re.compile(words, flags), rule.alias, len(rule.grapheme))


def _is_inside_word(text: str, position: int) -> bool:
    return _WORD_GOES_ON.match(text, position - 1) is not None and _WORD_GOES_ON.match(text, position) is not None


_FIRST = re.compile(r"(?:\n[^\S\n]{0,40}\n\s{0,40}|[.!?…][\"”’»)\]]{0,3}(?P<gap>\s{1,40}))[\"“„«‘'(\[¿¡*_]{0,3}\Z")
_OPENING = re.compile(r"\s{0,40}[\"“„«‘'(\[¿¡*_]{0,3}\Z")
_LETTER = re.compile(r"(?<![^\W_])[a-z]\.\Z")
"""Died: d. 1481."""

_FURTHEST = 96


def in_sentence_case(text: str, start: int, each: Replacement) -> Replacement:
    """start: where the block of text begins that the replacement is in."""
    if not each.spoken[:1].islower() or text[each.start].islower() or not _starts_sentence(text, start, each):
        return each
    return replace(each, spoken=each.spoken[0].upper() + each.spoken[1:])


def _starts_sentence(text: str, start: int, each: Replacement) -> bool:
    before = text[max(start, each.start - _FURTHEST) : each.start]
    if each.start - start < _FURTHEST and _OPENING.fullmatch(before):
        return True
    found = _FIRST.search(before)
    if found is None:
        return False
    if found["gap"] is None:
        return True
    if _LETTER.search(before, 0, found.start("gap")):
        return False
    return not is_abbreviation(before[: found.start("gap")], text[each.start : each.start + LOOK_BACK])
