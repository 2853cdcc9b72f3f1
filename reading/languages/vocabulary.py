"""Words that tell who speaks: verbs of speech, titles, nouns of persons, first names. English.

The first names are common ones of English novels and censuses of the 19th and 20th centuries.
"""

from __future__ import annotations

import json
from pathlib import Path

_LINES: dict[str, list[str]] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))


def words(text: str) -> frozenset[str]:
    """The words of a list with spaces between them."""
    return frozenset(text.split())


def _known(name: str) -> frozenset[str]:
    return words(" ".join(_LINES[name]))


SPEECH_VERBS = _known("speech_verbs")

MALE_TITLES, FEMALE_TITLES = _known("male_titles"), _known("female_titles")
TITLES = MALE_TITLES | FEMALE_TITLES
SINGLE_TITLES = _known("single_titles")
"""Before a family name. The others may stand before a first name as well."""

MALE_NOUNS, FEMALE_NOUNS = _known("male_nouns"), _known("female_nouns")
PERSON_NOUNS = MALE_NOUNS | FEMALE_NOUNS | _known("neutral_nouns")

MALE_NAMES, FEMALE_NAMES = _known("male_names"), _known("female_names")
SHORT_NAMES = {short: whole for short, _, whole in (each.partition("=") for each in _known("short"))}
