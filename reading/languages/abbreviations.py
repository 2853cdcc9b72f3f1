"""Words that are written with a full stop, by what comes behind them, in the languages of the model family.

The lists are for narration, not for parsing. One list serves all languages, because the language of a text may be
unknown or change within a paragraph. A word that a sentence may well end with is in none of them.
"""

from __future__ import annotations

import json
from pathlib import Path

_LISTS: dict[str, dict[str, list[str]]] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))


def _words(name: str) -> tuple[str, ...]:
    return tuple(word for lines in _LISTS[name].values() for line in lines for word in line.split())


BEFORE_NAMES = _words("before_names")
"""What follows is a name, or more of the same expression."""

BEFORE_NUMBERS = _words("before_numbers")
"""What follows is a number."""

BETWEEN_NUMBERS = _words("between_numbers")
"""Units that stand behind one number and before the next: three shillings and six pence, two hours and ten minutes."""

OPENERS = _words("openers")
"""Words that begin a sentence, and with a capital hardly anything else: a full stop before them has ended one."""
