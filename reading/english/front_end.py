"""A text as an English narrator reads it: every word that is more than letters is offered to the rules.

Right, or untouched: an item that no rule takes as a whole stays, and a word of which part is unknown stays whole.
Time is linear in the text: a rule is tried where a word begins, and looks at a bounded stretch.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from reading.english.figures import (
    angles,
    calendar,
    clocks,
    codes,
    formulas,
    fractions,
    money,
    old_money,
    quantities,
    roman,
    scripture,
    telephones,
    units,
    years,
)
from reading.english.letters import abbreviations, acronyms, addresses, signs
from reading.english.letters.abbreviation_lists import DOTLESS
from reading.english.letters.accents import plain_words
from reading.english.letters.marks import emoji, footnotes
from reading.english.rule import EnglishRule
from reading.script.script import Replacement

_IN_ORDER = (
    addresses,
    calendar,
    codes,
    scripture,
    telephones,
    old_money,
    clocks,
    angles,
    money,
    units,
    fractions,
    formulas,
    years,
    quantities,
    roman,
    abbreviations,
    signs,
    acronyms,
)
"""What is special comes before what is general: a date is no range, and a range no number."""

_WORD = re.compile(r"(?:(?!--|\.\.\.)[^\s—–…])++")
_PLAIN = re.compile(
    r"(?:[aI](?!\w)|(?![ivxl]{2,8}\b)[a-zA-Z]?[a-z]{1,40}+(?<!\b\w))(?:['’][a-z]{1,3})?[,;:!?]{0,2}['’”\"]?\Z"
)
"""A word of prose that no rule can begin with, unless it is one of `_SHORT`."""

_SHORT = frozenset((*DOTLESS, *calendar.SHORT_MONTHS, *calendar.SHORT_DAYS, "St", "ext"))
_COUNTED_BEFORE = re.compile(r"(?:[A-Z][A-Za-z.]{2,12}|\b(?:chapter|act|scene|book|part|volume|canto))\s\Z")
"""What stands before an I that may be a number: Part I, Charles I."""

_OPENING = "\"'“‘’([{*_<-"
_MOST_OPENING = 4


def _by_start(rules: Sequence[EnglishRule]) -> dict[str, tuple[EnglishRule, ...]]:
    found: dict[str, list[EnglishRule]] = defaultdict(list)
    for rule in rules:
        for char in dict.fromkeys(rule.starts):
            found[char].append(rule)
    return {char: tuple(listed) for char, listed in found.items()}


_RULES = _by_start([rule for module in _IN_ORDER for rule in module.RULES])


def respell_english(text: str, start: int, end: int) -> Iterator[Replacement]:
    """Replacements for text[start:end], in order."""
    at = start
    for match in _WORD.finditer(text, start, end):
        if match.end() <= at or is_prose(match.group(), text[max(0, match.start() - 15) : match.start()]):
            continue
        first, last = max(at, match.start()), match.end()
        found = _item(text, first, last, end)
        if found is not None:
            yield found
            first = at = found.end
        for each in _marks(text, first, last):
            yield each
            at = each.end


def is_prose(word: str, before: str) -> bool:
    """Whether no rule begins with the word. before: at least 15 characters of what it follows, if there are so many."""
    if _PLAIN.match(word) is None or word in _SHORT:
        return False
    return word[0] != "I" or len(word) > 1 or _COUNTED_BEFORE.search(before, max(0, len(before) - 14)) is None


def _item(text: str, first: int, last: int, end: int) -> Replacement | None:
    """The item at the beginning of a word, behind its opening marks."""
    front = text[max(0, first - 2) : first]
    if front.endswith("–") and text[first].isdigit() and front[:1].isdigit():
        return None
    if front.endswith("-") and text[first] == "-":
        # The second half of a dash, and no minus.
        first += 1
    for position in range(first, min(last, first + _MOST_OPENING)):
        for rule in _RULES.get(text[position], ()):
            match = rule.pattern.match(text, position, end)
            spoken = rule.speak(match) if match else None
            if match and spoken is not None:
                return Replacement(position, match.end(), spoken) if spoken != match.group() else None
        if text[position] not in _OPENING:
            return None
    return None


def _marks(text: str, start: int, end: int) -> Iterator[Replacement]:
    """What is passed over or written without accents in the rest of a word, in order."""
    if start >= end:
        return
    found = [*footnotes(text, start, end)]
    if not text[start:end].isascii():
        found += (*emoji(text, max(0, start), end), *plain_words(text, start, end))
    yield from sorted(found, key=lambda each: each.start)
