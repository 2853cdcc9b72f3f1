"""What one request of a measurement asks for, and the texts that are drawn for it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from pydantic import JsonValue


class Language(StrEnum):
    """Of a text. The values are what the command line takes."""

    ENGLISH = "en"
    CHINESE = "zh"
    MIXED = "mixed"


class Task(StrEnum):
    """What a model of the Qwen3-TTS family is made for. The values are what the command line takes."""

    CUSTOM_VOICE = "custom-voice"
    """One of the model's own voices."""

    VOICE_DESIGN = "voice-design"
    """A voice that the model makes from instructions."""

    X_VECTOR = "x-vector"
    """That of a recording, from its embedding alone."""

    IN_CONTEXT = "in-context"
    """That of a recording, which the model continues."""

    @property
    def is_of_recording(self) -> bool:
        return self in (Task.X_VECTOR, Task.IN_CONTEXT)


class TextLevel(StrEnum):
    """Length of a text in characters: below 50, up to 200, up to 600."""

    SHORT = "short"
    MEDIUM = "medium"
    LONG = "long"


LANGUAGE_NAMES = {Language.ENGLISH: "English", Language.CHINESE: "Chinese", Language.MIXED: "Auto"}
"""As servers of the Qwen3-TTS family want them."""


@dataclass(frozen=True, slots=True)
class SpeechRequestOrder:
    """number: of the request within its stage; the text, its language and its level follow from it and the seed."""

    number: int
    text: str
    language: Language
    level: TextLevel


@dataclass(frozen=True, slots=True)
class SpeechTarget:
    """Whom every request goes to, and how it is to be spoken.

    url: where the server's paths begin, without /v1. key: sent as a bearer token. parameters: further fields of each
    request, as they are. None: left to the server. reference: a recording as a data URL, reference_text: what it says,
    for a task that has them.
    """

    url: str
    key: str | None = field(default=None, repr=False)
    model: str | None = None
    voice: str | None = None
    instructions: str | None = None
    task: Task | None = None
    reference: str | None = field(default=None, repr=False)
    reference_text: str | None = None
    parameters: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])


BOUNDS = {TextLevel.SHORT: (1, 49), TextLevel.MEDIUM: (50, 200), TextLevel.LONG: (201, 600)}
"""Characters of a text, the least and the most."""


@dataclass(frozen=True, slots=True)
class TextChoice:
    """Which texts are drawn. Levels and languages come in turns, so that any few requests have all of them.

    seed: another one gives other sentences together, with other numbers in them: texts that no server was tuned with.
    """

    seed: int = 0
    levels: tuple[TextLevel, ...] = tuple(TextLevel)
    languages: tuple[Language, ...] = (Language.ENGLISH,)


class TextBank:
    """Raises ValueError where no level or no language was chosen."""

    def __init__(self, choice: TextChoice) -> None:
        if not choice.levels or not choice.languages:
            raise ValueError("a text has a level and a language")
        self._choice = choice
        self._sentences = {language: _sentences(language) for language in choice.languages}

    def order(self, number: int) -> SpeechRequestOrder:
        """The same for the same number, whatever was asked for before."""
        levels, languages = self._choice.levels, self._choice.languages
        level = levels[number % len(levels)]
        language = languages[number // len(levels) % len(languages)]
        chance = random.Random(f"{self._choice.seed}/{number}")
        joint = "" if language is Language.CHINESE else " "
        return SpeechRequestOrder(number, _text(self._sentences[language], level, joint, chance), language, level)


def _sentences(language: Language) -> tuple[str, ...]:
    file = Path(__file__).parent / "texts" / f"{language.name.lower()}.txt"
    lines = file.read_text(encoding="utf-8").splitlines()
    return tuple(line for line in lines if line)


def _text(sentences: Sequence[str], level: TextLevel, joint: str, chance: random.Random) -> str:
    """Sentence after sentence until a length drawn within the level's bounds is nearly reached."""
    least, most = BOUNDS[level]
    wanted = chance.randint(least, most)
    text = ""
    while len(text) < wanted:
        room = most - len(text) - len(joint if text else "")
        fitting = [each for each in (_filled(sentence, chance) for sentence in sentences) if len(each) <= room]
        if not fitting:
            break
        text = f"{text}{joint if text else ''}{chance.choice(fitting)}"
    return text


def _filled(sentence: str, chance: random.Random) -> str:
    return sentence.format(
        n=chance.randint(11, 99),
        s=chance.randint(2, 9),
        h=chance.randint(1, 12),
        d=chance.randint(1, 31),
        m=chance.randint(101, 9999),
        y=chance.randint(1801, 2025),
    )
