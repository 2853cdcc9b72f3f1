"""Compares a plan's text with its model's languages. It rejects text that could only become noise, and warns of text
that will sound wrong.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby

from reading.drafting.spec import ReadingSpec
from reading.drafting.unplannable import Unplannable
from reading.drafting.warnings import FOREIGN_LETTERS, LANGUAGE_MISMATCH, TextWarning
from reading.languages.function_words import FUNCTION_WORDS
from reading.languages.names import AUTO_LANGUAGE, LANGUAGE_NAMES
from reading.languages.writing_systems import count_foreign, find_foreign, foreign_text_detail
from reading.plan.plan import PlanSegment

_WORD = re.compile(r"\b[^\W\d_]+\b")
_KNOWN = frozenset(FUNCTION_WORDS.keys() | set(LANGUAGE_NAMES.values()))

LEAST_HITS = 3
LEAST_SHARE = 0.3
"""Of all words, those that are common in the language found."""

LEAST_LEAD = 3
"""So many times as many as of any language that would be right."""

ENGLISH = "english"
SAMPLE_CHARS = 20_000
"""Of the beginning of a text, which tell whether it is English."""

LEAST_CHARS = 300
"""Of a passage that is looked at by itself; a quotation in another language is shorter, and nobody's mistake."""


def refuse_foreign_text(segments: Sequence[PlanSegment], spec: ReadingSpec) -> None:
    """Raises `Unplannable` for text in letters that no language of the model is written with."""
    found = find_foreign([segment.text for segment in segments], spec.languages)
    if found is not None:
        # What is spoken need not be what is written, so the place is about right.
        start = segments[found.part].start + found.start
        raise Unplannable("unsupported_language", foreign_text_detail(found.script, start, spec.model, spec.languages))


def language_warnings(segments: Sequence[PlanSegment], spec: ReadingSpec) -> tuple[TextWarning, ...]:
    """For the job's owner; none for a job whose model's languages are not known."""
    return (*_mismatches(segments, spec), *_foreign_letters(segments, spec)) if spec.languages else ()


def _mismatches(segments: Sequence[PlanSegment], spec: ReadingSpec) -> Iterator[TextWarning]:
    """At most one, of the first passage: a book in the wrong language needs no warning for every page."""
    for start, text, expected in _passages(segments, spec):
        if found := wrong_language(text, expected):
            detail = (
                f"from character {start} on the text seems to be in {found}, "
                f"and {spec.model} reads it as {' or '.join(expected)}"
            )
            yield TextWarning(LANGUAGE_MISMATCH, detail)
            return


def _passages(segments: Sequence[PlanSegment], spec: ReadingSpec) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """Neighbours of one language, together long enough to tell, or what is left at an end: (start, text, languages)."""
    for language, group in groupby(segments, key=lambda segment: segment.language or spec.request.language):
        expected = spec.languages if language == AUTO_LANGUAGE else (language,)
        start, texts = -1, list[str]()
        for segment in group:
            start = segment.start if start < 0 else start
            texts.append(segment.text)
            if sum(map(len, texts)) >= LEAST_CHARS:
                yield start, " ".join(texts), expected
                start, texts = -1, []
        if texts:
            yield start, " ".join(texts), expected


def _foreign_letters(segments: Sequence[PlanSegment], spec: ReadingSpec) -> Iterator[TextWarning]:
    number = sum(count_foreign(segment.text, spec.languages) for segment in segments)
    if number:
        letters = "1 letter is" if number == 1 else f"{number} letters are"
        detail = f"{letters} of no language that {spec.model} speaks ({', '.join(spec.languages)}), and may sound wrong"
        yield TextWarning(FOREIGN_LETTERS, detail)


def is_english(text: str, spec: ReadingSpec) -> bool:
    """As far as the request and the beginning of the text tell."""
    if spec.request.language.casefold() not in {AUTO_LANGUAGE, ENGLISH}:
        return False
    sample = text[:SAMPLE_CHARS]
    return wrong_language(sample, [ENGLISH]) is None and 2 * count_foreign(sample, [ENGLISH]) < len(sample)


def wrong_language(text: str, expected: Collection[str]) -> str | None:
    """The language that the text surely is in instead of one of those; None if it is not sure.

    About half of a text's words are articles, pronouns and the like, and every language has its own. A few sentences
    suffice; names, lists and verse may not. Nor is it sure where one of those languages is unknown here.
    """
    right_ones = {name.casefold() for name in expected}
    if not right_ones <= _KNOWN:
        return None
    words = _WORD.findall(text.casefold())
    hits = {language: sum(word in common for word in words) for language, common in FUNCTION_WORDS.items()}
    found = max(hits, key=lambda language: hits[language])
    right = max((hits.get(language, 0) for language in right_ones), default=0)
    is_sure = (
        hits[found] >= LEAST_HITS and hits[found] >= LEAST_SHARE * len(words) and hits[found] >= LEAST_LEAD * right
    )
    return found if is_sure and found not in right_ones else None
