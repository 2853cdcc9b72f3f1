"""Pronunciation dictionaries: the bodies of requests and answers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from rhapsode.contract.base import FIRST_FAULT_ALONE, Answer, Id, Name, RequestBody
from rhapsode.contract.speakable_text import check_label, check_prose
from rhapsode.contract.words import is_speakable

MAX_RULES = 10_000
MAX_GRAPHEME_CHARS = 200
MAX_ALIAS_CHARS = 1_000


def check_grapheme(text: str) -> str:
    if not is_speakable(text):
        raise PydanticCustomError("nothing_speakable", "has no letter or digit")
    return check_label(text)


class Rule(RequestBody):
    """`grapheme` is spoken as `alias` wherever it stands as a whole word or as several."""

    grapheme: Annotated[str, Field(min_length=1, max_length=MAX_GRAPHEME_CHARS), AfterValidator(check_grapheme)]
    alias: Annotated[str, Field(max_length=MAX_ALIAS_CHARS), AfterValidator(check_prose)]
    case_sensitive: bool = True


class VersionOrder(RequestBody):
    """A further version: all of its rules, as versions do not build upon each other."""

    rules: list[Rule] = Field(min_length=1, max_length=MAX_RULES, fail_fast=FIRST_FAULT_ALONE)
    language: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{0,35}$")] = Field(default="", description="BCP 47")


class DictionaryOrder(VersionOrder):
    name: Name


class Version(Answer):
    """`reference` is what a job names."""

    version: int
    reference: str
    num_rules: int
    bytes: int
    sha256: str
    language: str
    created_at: datetime


class Dictionary(Answer):
    id: Id
    object: str = "pronunciation_dictionary"
    name: str
    created_at: datetime
    versions: tuple[Version, ...]


class DictionaryList(Answer):
    data: tuple[Dictionary, ...]
    next_cursor: str | None
    has_more: bool


class RuleAnswer(Answer):
    grapheme: str
    alias: str
    case_sensitive: bool


class VersionRules(Version):
    rules: tuple[RuleAnswer, ...]
