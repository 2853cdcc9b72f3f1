"""Abbreviations and their words, by what must stand beside them. Data."""

from __future__ import annotations

import json
from pathlib import Path

from reading.languages.tables import table, words

_LINES: dict[str, list[str]] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))

TITLES, COUNTED, PHRASES, BEHIND_NAMES, BEFORE_OF, ENDING = (
    table("\n".join(_LINES[name])) for name in ("titles", "counted", "phrases", "behind_names", "before_of", "ending")
)
"""ENDING: what a sentence may well end with."""

DOTLESS = ("Mr", "Mrs", "Ms", "Dr", "Prof", "Mme", "Mlle", "Messrs")
DIVISIONS = words("Vol vol Chap chap Ch ch Bk Pt Fig Sec Art Par CHAP VOL Op Ex")
