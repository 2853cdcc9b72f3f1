"""Pronunciation dictionaries in versions that never change; their rules are `reading.spelling.rules`. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from storage.ids import DICTIONARY_ID, DictionaryId

_REFERENCE = re.compile(rf"({DICTIONARY_ID.pattern})@([1-9][0-9]{{0,8}})")


@dataclass(frozen=True, slots=True)
class DictionaryVersion:
    """version counts from 1."""

    dictionary: DictionaryId
    version: int

    def __str__(self) -> str:
        return f"{self.dictionary}@{self.version}"


def parse_reference(reference: str) -> DictionaryVersion | None:
    """`pd_…@3`; None if it is not written so."""
    match = _REFERENCE.fullmatch(reference)
    return DictionaryVersion(DictionaryId(match[1]), int(match[2])) if match else None
