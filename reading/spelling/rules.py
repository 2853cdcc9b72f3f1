"""The rules of a pronunciation dictionary: how words are respelt before they are spoken. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass


class RulesFormatError(ValueError):
    """The bytes are not a version of a dictionary."""


@dataclass(frozen=True, slots=True)
class PronunciationRule:
    """`grapheme` is spoken as `alias` wherever it stands as a whole word, or as several."""

    grapheme: str
    alias: str
    case_sensitive: bool = True


def encode_rules(rules: Iterable[PronunciationRule]) -> bytes:
    return "".join(f"{json.dumps(asdict(rule))}\n" for rule in rules).encode()


def decode_rules(data: bytes) -> tuple[PronunciationRule, ...]:
    """Raises `RulesFormatError` for what `encode_rules` did not write."""
    try:
        return tuple(PronunciationRule(**json.loads(line)) for line in data.decode().splitlines())
    except (TypeError, ValueError) as error:
        raise RulesFormatError(f"not a dictionary: {error}") from error
