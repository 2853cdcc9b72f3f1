"""Text as words that can be compared, in languages that have no rules of their own here. Pure.

Numbers are not written out: a recogniser that hears "dreizehn" and writes 13 differs in one word, which a run of
divergent words forgives.
"""

from __future__ import annotations

import re
import unicodedata

from storage.estimates import SYLLABIC

_WORD = re.compile(rf"[{SYLLABIC}]|[^\W_{SYLLABIC}]+(?:['’][^\W_{SYLLABIC}]+)*")


def plain_words(text: str) -> list[str]:
    """Without case, marks and accents of composition; a character of a syllabic script is a word."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
