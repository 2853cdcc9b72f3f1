"""A voice for each character of a cast. Pure."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise

from reading.dialogue.proposal import Dialogue

_FEMALE = frozenset({"vivian", "serena", "ono_anna", "sohee"})
_MALE = frozenset({"uncle_fu", "dylan", "eric", "ryan", "aiden"})
"""Speakers of the Qwen3-TTS family. Kokoro's names begin with accent and sex: `bf_emma`."""

_KOKORO = re.compile("[a-z]([fm])_")


def voice_sex(voice: str) -> str:
    """Of a built-in voice by its name; "" for any other."""
    name = voice.casefold()
    if match := _KOKORO.match(name):
        return "female" if match[1] == "f" else "male"
    return "female" if name in _FEMALE else "male" if name in _MALE else ""


def choose_voices(proposed: Dialogue, voices: Sequence[str], narrator: str) -> dict[str, str]:
    """Of each character: of its sex, of the narrator's accent, and unlike the voices that it talks with.

    voices: of the model; without any, nobody has one. Who tells the story in the first person has the narrator's.
    """
    if not voices:
        return {}
    talks = _neighbours(proposed)
    accent = narrator[:1] if _KOKORO.match(narrator) else ""
    usable = [voice for voice in voices if voice != narrator and voice.startswith(accent)] or list(voices)
    chosen: dict[str, str] = {}
    uses: Counter[str] = Counter()
    for each in proposed.characters:
        fitting = [voice for voice in usable if each.sex in {"", voice_sex(voice)}] or usable
        heard = Counter[str]()
        for other, times in talks[each.name].items():
            if other in chosen:
                heard[chosen[other]] += times
        chosen[each.name] = (
            narrator
            if each.tells_the_story
            else min(fitting, key=lambda voice: (heard[voice] > 0, uses[voice], heard[voice]))
        )
        uses[chosen[each.name]] += each.num_lines
    return chosen


def _neighbours(proposed: Dialogue) -> Mapping[str, Counter[str]]:
    """How often two people speak one after the other."""
    talks: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for one, other in pairwise(line.speaker for line in proposed.lines):
        if one != other:
            talks[one][other] += 1
            talks[other][one] += 1
    return talks
