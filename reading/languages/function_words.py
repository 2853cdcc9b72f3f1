"""The commonest words of languages that are written in Latin letters. Our own lists, measured by the tests.

Words of two languages are in both lists. What an apostrophe divides counts as two words, so that "l'homme" and "don't"
are found. Some languages here are spoken by no model of the family: a text in them is to be noticed all the same.
"""

from __future__ import annotations

import json
from pathlib import Path

_LINES: dict[str, list[str]] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))

FUNCTION_WORDS = {language: frozenset(" ".join(lines).split()) for language, lines in _LINES.items()}
"""By language, as the models name them."""
