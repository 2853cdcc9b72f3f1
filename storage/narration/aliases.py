"""Names that stand for a model or a voice of this server, for programs that know only OpenAI's. Pure.

A name that the server itself knows is never taken for another.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

from rhapsode.contract.base import Name

MAX_ALIASES = 1_000

OPENAI_MODELS = ("tts-1", "tts-1-1106", "tts-1-hd", "tts-1-hd-1106", "gpt-4o-mini-tts")
"""Each stands for the model that speaks where none is named; a dated one (`gpt-4o-mini-tts-2025-12-15`) too."""

OPENAI_VOICES = {
    "alloy": "af_alloy",
    "ash": "am_eric",
    "ballad": "bm_daniel",
    "cedar": "am_michael",
    "coral": "af_sarah",
    "echo": "am_echo",
    "fable": "bm_fable",
    "marin": "af_heart",
    "nova": "af_nova",
    "onyx": "am_onyx",
    "sage": "af_kore",
    "shimmer": "af_sky",
    "verse": "am_liam",
}
"""Each stands for the voice of Kokoro that is most like it, and in other models for one of their voices, in turn."""


def _folded(names: dict[str, str]) -> dict[str, str]:
    if len(names) > MAX_ALIASES:
        raise ValueError(f"at most {MAX_ALIASES} names")
    return {name.casefold(): target for name, target in names.items()}


Names = Annotated[dict[Name, Name], AfterValidator(_folded)]


class Aliases(BaseModel):
    """`models`, `voices`: name -> name of this server. Those of OpenAI's that are not here mean what they do anyway."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    models: Names = {}
    voices: Names = {}

    def model(self, name: str | None, known: Collection[str]) -> str | None:
        """The model that a name means: one of those known, or another; None for the server's choice."""
        if name is None or name in known:
            return name
        wanted = name.casefold()
        if wanted in self.models:
            return self.models[wanted]
        return None if _is_openai_model(wanted) else name

    def voice(self, name: str, speakers: tuple[str, ...]) -> str | None:
        """What a name that neither the model nor the caller has stands for: one of these, or another name.

        None for OpenAI's with a model that has no speakers: its voice is designed, or comes along.
        """
        wanted = name.casefold()
        if wanted in self.voices:
            return self.voices[wanted]
        if wanted not in OPENAI_VOICES:
            return name
        alike = OPENAI_VOICES[wanted]
        if alike in speakers:
            return alike
        return speakers[[*OPENAI_VOICES].index(wanted) % len(speakers)] if speakers else None


def _is_openai_model(name: str) -> bool:
    return name in OPENAI_MODELS or any(name.startswith(f"{known}-20") for known in OPENAI_MODELS)
