"""The voices that the small voice learned from, as figures: what its own speech is compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from tests.listening.voice_profile import VoiceProfile

FILE = Path(__file__).with_name("teachers.json")
SENTENCES = Path(__file__).with_name("unseen_sentences.txt")


@dataclass(frozen=True, slots=True)
class Teacher:
    """embedding: of the speaker encoder, mean over the sentences, length one."""

    made_by: str
    sentences: int
    word_error_rate: float
    quality: float
    profile: VoiceProfile
    embedding: tuple[float, ...]


_FORM = TypeAdapter(Mapping[str, Teacher])


def read_teachers() -> Mapping[str, Teacher]:
    """By the name of the built-in speaker that learned from each."""
    return _FORM.validate_json(FILE.read_bytes())
