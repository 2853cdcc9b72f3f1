"""Every regular expression of the project takes time that grows with the text, not with the square of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from re import Pattern
from typing import cast

import pytest

from tests.linear_time.patterns import (
    AnyPattern,
    modules_with_patterns,
    patterns_built_inside,
    patterns_of,
)
from tests.linear_time.runs import steep

MODULES = sorted(modules_with_patterns())

BUILT = {
    "reading.script.dialogue._turns": "parsers: a play",
    "reading.languages.writing_systems._patterns": "parsers: foreign letters",
    "storage.runtime.observability.redaction.__init__": "words that are secrets, one after the other",
    "reading.english.rule.rule": "held by the module of its rule",
    "reading.languages.full_stops._behind_word_start": "held by its module",
    "reading.numbers.east_asian._pattern": "held by its module",
    "worker.engine.kokoro.phones.heteronyms._rules": "of a table beside it; phones of whole texts are in its own tests",
    "reading.numbers.european.__init__": "held by its module",
    "reading.spelling.respelling._entry": "parsers: a dictionary",
}
"""Functions that put a pattern together, and where what they make is looked at."""


@pytest.mark.parametrize("name", MODULES)
def test_patterns_are_linear(name: str) -> None:
    for place, pattern in patterns_of(name).items():
        assert steep_ways(pattern) == (), f"{place}: {pattern.pattern!r}"


def test_what_puts_patterns_together_is_known() -> None:
    assert {function for name in MODULES for function in patterns_built_inside(name)} == set(BUILT)


@cache
def steep_ways(pattern: AnyPattern) -> tuple[str, ...]:
    """Of a pattern that several modules hold, once."""
    return tuple(str(each) for way in ways(pattern) for each in steep(way))


def ways(pattern: AnyPattern) -> tuple[Callable[[str], object], ...]:
    """The whole text gone through, and the whole text to be matched."""
    if isinstance(pattern.pattern, bytes):
        of_bytes = cast("Pattern[bytes]", pattern)
        return lambda text: of_bytes.sub(b"", text.encode()), lambda text: of_bytes.fullmatch(text.encode())
    of_text = cast("Pattern[str]", pattern)
    return lambda text: of_text.sub("", text), lambda text: of_text.fullmatch(text)
