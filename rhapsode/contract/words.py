"""How long a word may be, and what can be spoken at all: of the text of a request and of a document alike.

No voice speaks a word of a thousand characters, and what divides a text into words and sentences is made for words.
"""

from __future__ import annotations

import re

MAX_WORD_CHARS = 1_000

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai and Lao, Myanmar, Khmer
    "\u2e80-\ua4cf\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef"  # ideographs, kana and their punctuation
    "\U00020000-\U0003ffff"
)
"""Scripts written without spaces: there a long run is a sentence, which segmentation cuts, and not a word."""

# The look-behind starts a match only where a run starts: without it each of n positions would look ahead again.
_LONG_WORD = re.compile(rf"(?<![^\s{_UNSPACED}])[^\s{_UNSPACED}]{{{MAX_WORD_CHARS + 1}}}")
_SPEAKABLE_CHAR = re.compile(r"[^\W_]")


def find_long_word(text: str) -> int | None:
    """Where the first word of more than `MAX_WORD_CHARS` begins; None if there is none."""
    found = _LONG_WORD.search(text)
    return None if found is None else found.start()


def is_speakable(text: str) -> bool:
    """Whether there is at least one letter or digit, of any script."""
    return _SPEAKABLE_CHAR.search(text) is not None
