"""Pronunciation dictionaries: how words are respelt before they are spoken, in versions that never change. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from storage.ids import DICTIONARY_ID, DictionaryId

_REFERENCE = re.compile(rf"({DICTIONARY_ID.pattern})@([1-9][0-9]{{0,8}})")


class RulesFormatError(ValueError):
    """The bytes are not a version of a dictionary."""


@dataclass(frozen=True, slots=True)
class PronunciationRule:
    """`grapheme` is spoken as `alias` wherever it stands as a whole word, or as several."""

    grapheme: str
    alias: str
    case_sensitive: bool = True


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


def encode_rules(rules: Iterable[PronunciationRule]) -> bytes:
    return "".join(f"{json.dumps(asdict(rule))}\n" for rule in rules).encode()


def decode_rules(data: bytes) -> tuple[PronunciationRule, ...]:
    """Raises `RulesFormatError` for what `encode_rules` did not write."""
    try:
        return tuple(PronunciationRule(**json.loads(line)) for line in data.decode().splitlines())
    except (TypeError, ValueError) as error:
        raise RulesFormatError(f"not a dictionary: {error}") from error
