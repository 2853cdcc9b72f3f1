"""What one request of a measurement asks for, and what all of them have in common."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

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
    """That of a recording, which the model goes on from."""

    @property
    def is_of_recording(self) -> bool:
        return self in (Task.X_VECTOR, Task.IN_CONTEXT)


class Level(StrEnum):
    """Length of a text in characters: below 50, up to 200, up to 600."""

    SHORT = "short"
    MEDIUM = "medium"
    LONG = "long"


LANGUAGE_NAMES = {Language.ENGLISH: "English", Language.CHINESE: "Chinese", Language.MIXED: "Auto"}
"""As servers of the Qwen3-TTS family want them."""


@dataclass(frozen=True, slots=True)
class Order:
    """number: of the request within its stage; the text, its language and its level follow from it and the seed."""

    number: int
    text: str
    language: Language
    level: Level


@dataclass(frozen=True, slots=True)
class Speaking:
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
