"""Voices by name, and weighted blends of them: `af_heart`, `af_bella(2)+af_sky(1)`."""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load

from worker.engine.errors import RequestRejected
from worker.engine.kokoro.phones import Accent

VoicePack = NDArray[np.float32]
"""(510, 256): a style for each number of phones."""

DEFAULT_VOICE = "af_heart"
MOST_BLENDED = 8

_PACES = {
    "af_jessica": 0.94,
    "af_kore": 1.09,
    "af_nicole": 1.18,
    "af_river": 0.94,
    "am_eric": 0.95,
    "am_liam": 0.95,
    "am_michael": 1.11,
    "am_onyx": 1.09,
    "am_puck": 1.05,
    "am_santa": 1.14,
    "bf_alice": 1.06,
    "bf_emma": 0.97,
    "bf_lily": 1.05,
    "bm_fable": 1.11,
    "bm_george": 1.16,
    "bm_lewis": 1.11,
}
"""The speed that brings a voice's prose to about 160 words a minute, pauses included; of the others, 1.

By `benchmarks/voices/kokoro_pace.py`. `af_nicole` whispers: she has the model's own speed and 122 words a minute.
"""

_MEMBER = re.compile(r"(\w+)(?:\((\d{1,3}(?:\.\d{1,3})?)\))?")
"""Twin of `api.voices.matching`, which accepts the same names before a job is stored."""


class KokoroVoices:
    def __init__(self, data: bytes) -> None:
        """data: a safetensors file with one array a voice."""
        self._packs = load(data)
        self.names = (DEFAULT_VOICE, *sorted(self._packs.keys() - {DEFAULT_VOICE}))
        self._blended = lru_cache(maxsize=32)(self._blend)

    def pack(self, voice: str) -> VoicePack:
        """Raises RequestRejected."""
        return self._blended(_members(voice))

    def _blend(self, members: tuple[tuple[str, float], ...]) -> VoicePack:
        for name, _ in members:
            if name not in self._packs:
                raise RequestRejected(f"unknown voice {name!r}; there are {', '.join(self.names)}")
        total = sum(weight for _, weight in members)
        if total <= 0:
            raise RequestRejected("the weights of a blend should not all be 0")
        blended = np.zeros((510, 256), np.float32)
        for name, weight in members:
            blended += np.float32(weight / total) * self._packs[name].astype(np.float32)
        return blended


def accent_of(voice: str) -> Accent:
    """Of a blend, the accent of the voice that is named first."""
    return Accent.BRITISH if voice.startswith("b") else Accent.AMERICAN


def pace_of(voice: str) -> float:
    """Of a blend, the weighted mean. Raises RequestRejected."""
    members = _members(voice)
    return sum(weight * _PACES.get(name, 1.0) for name, weight in members) / sum(weight for _, weight in members)


def _members(voice: str) -> tuple[tuple[str, float], ...]:
    parts = voice.split("+")
    found = [_MEMBER.fullmatch(part.strip()) for part in parts]
    if len(parts) > MOST_BLENDED or not all(found):
        raise RequestRejected(
            f"{voice!r} is no voice and no blend like af_bella(2)+af_sky(1) of at most {MOST_BLENDED}"
        )
    return tuple((match[1], float(match[2] or 1)) for match in found if match)
