"""Who speaks in a text, as it is proposed to people."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any, Literal

Sex = Literal["male", "female", ""]

FIRST_PERSON = "I"
"""The name of a narrator in the first person."""


@dataclass(frozen=True, slots=True)
class Line:
    """What one person says, in quotation marks, or thinks: [start, end) of the text.

    id: a hash of its words; a later line with the same words gets a number. speaker: "" if unknown.
    probability: of the speaker, as measured on marked novels; of a thought not measured. text: its beginning.
    """

    id: str
    start: int
    end: int
    speaker: str
    probability: float
    text: str
    thought: bool = False


@dataclass(frozen=True, slots=True)
class Character:
    """names: every form in the text, the most frequent first. num_lines: of `Line`s."""

    name: str
    names: tuple[str, ...]
    sex: Sex
    num_lines: int

    @property
    def tells_the_story(self) -> bool:
        """Whether this is the narrator of a story in the first person."""
        return FIRST_PERSON in self.names


@dataclass(frozen=True, slots=True)
class Dialogue:
    """characters: who speaks, the one with the most lines first."""

    characters: tuple[Character, ...]
    lines: tuple[Line, ...]

    def rows(self) -> list[list[list[Any]]]:
        """As JSON has it; `of_rows` reads it."""
        return [[[*astuple(each)] for each in group] for group in (self.characters, self.lines)]

    @classmethod
    def of_rows(cls, rows: list[list[list[Any]]]) -> Dialogue:
        characters, lines = rows
        people = tuple(Character(name, tuple(names), sex, number) for name, names, sex, number in characters)
        return cls(people, tuple(Line(*line) for line in lines))
