"""Which capitals are said letter by letter, and which as a word."""

from __future__ import annotations

import json
from pathlib import Path

_LINES: dict[str, list[str]] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))

BY_LETTER, AS_WORD, SHOUTED = (
    frozenset(" ".join(_LINES[name]).split()) for name in ("by_letter", "as_word", "shouted")
)
"""SHOUTED: short words that are emphasised so."""
