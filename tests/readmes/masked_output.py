"""Whether a command printed what its page says, but for what differs from run to run. Pure.

Numbers, times, ids, hashes and white space are not compared, nor are lines of progress; `...` in a page stands for
anything.
"""

from __future__ import annotations

import re
from itertools import zip_longest

ID = re.compile(r"\b(?:bat|con|evt|job|pd|req|upl|voc|whd|whe)_[0-9a-z]{12,}")
_PROGRESS = re.compile(
    r"(queued(:.*)?|planning|(waiting|speaking|preparing|joining|succeeded:).*|\d+/\d+ jobs ended.*)"
)
_MASKS = (
    (ID, "<id>"),
    (re.compile(r"\b(?=[0-9a-f]*[0-9])[0-9a-f]{8,}\b"), "<hash>"),
    (re.compile(r"[0-9]+(?:[:.,][0-9]+)*"), "#"),
    (re.compile(r"(?:# (?:h|min) )+# s\b"), "# s"),
    (re.compile(r"\b(?:<hash>|#)(?=\.\.\.)"), ""),
    (re.compile(r"\s+"), ""),
)
_ELISION = re.compile(r"\.\.\.|…")


def masked(text: str) -> str:
    lines = (line for line in text.splitlines() if not _PROGRESS.fullmatch(line.strip()))
    text = "\n".join(lines)
    for pattern, mask in _MASKS:
        text = pattern.sub(mask, text)
    return text


def is_as_told(told: str, printed: str) -> bool:
    """Every part of the page's text between elisions is printed, in order, and nothing else but where it elides."""
    first, *parts = _ELISION.split(masked(told))
    text = masked(printed)
    if not parts:
        return first == text
    if not text.startswith(first):
        return False
    place = len(first)
    for part in parts[:-1]:
        found = text.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    return len(text) - place >= len(parts[-1]) and text.endswith(parts[-1])


def ids_of(told: str, printed: str) -> dict[str, str]:
    """Which id of this run stands for which of the page: the first of a kind for the first, and so on."""
    known: dict[str, str] = {}
    for kind in {each.partition("_")[0] for each in ID.findall(told)}:
        pages, ours = (
            [each for each in dict.fromkeys(ID.findall(text)) if each.startswith(f"{kind}_")]
            for text in (told, printed)
        )
        known |= {page: own for page, own in zip_longest(pages, ours) if page and own}
    return known
