"""Whatever a pickle's meaning depends on changes the digest."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType

import pytest

from worker.process.children.release import release_of

SOURCE = """
from dataclasses import dataclass
from enum import Enum, StrEnum

@dataclass
class Heard:
    call: int
    text: str

class Tone(StrEnum):
    LOW = "low"

class Broken(Exception):
    def __init__(self, code, detail): ...
"""


Digest = Callable[[str], bytes]


@pytest.fixture
def digest(monkeypatch: pytest.MonkeyPatch) -> Digest:
    """Of a module with that source."""

    def digest(source: str) -> bytes:
        module = ModuleType("spoken")
        monkeypatch.setitem(sys.modules, "spoken", module)
        exec(source, vars(module))
        return release_of(module)

    return digest


def test_the_same_classes_have_the_same_digest(digest: Digest) -> None:
    assert digest(SOURCE) == digest(SOURCE + "\nconstant = 3\n")


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("    call: int\n    text: str\n", "    text: str\n    call: int\n"),
        ("text: str", "words: str"),
        ("text: str", "text: bytes"),
        ('"low"', '"deep"'),
        ("class Broken", "class Damaged"),
        ("code, detail", "detail, code"),
    ],
    ids=["order", "name", "type", "member", "class", "parameters"],
)
def test_another_meaning_has_another_digest(digest: Digest, was: str, now: str) -> None:
    assert digest(SOURCE.replace(was, now)) != digest(SOURCE)
