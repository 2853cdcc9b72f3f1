"""How long a text will sound, and whether it sounds at all. Pure; the API and the workers ask the same functions.

The rates are round figures for narration: about 14 characters a second in scripts that spell sounds. Where one
character is a syllable (Chinese, Japanese, Korean), it is a third of that.
"""

from __future__ import annotations

import re

UNITS_PER_S = 14.0
"""Speech units spoken in a second; one unit is a character of a spelled script."""

MAX_AUDIO_MS = 250 * 3_600_000
"""Expected audio of one job, pauses included: ten million characters. The longest novels take 60 to 130 hours."""

SYLLABIC_UNITS = 3
"""What one Chinese, Japanese or Korean character counts."""

SYLLABIC = (
    "\u1100-\u11ff\u3005-\u3007\u3021-\u3029\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u3105-\u312f\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff"
    "\uff66-\uff9f\U00020000-\U0003ffff"
)
"""Letters that are a syllable or more, as the inside of a regular expression's character class."""

_SYLLABIC_CHAR = re.compile(f"[{SYLLABIC}]")
_WHITESPACE_RUN = re.compile(r"\s+")


def speech_units(text: str) -> int:
    """Length in speech units; never less than the length in code points."""
    return len(text) + (SYLLABIC_UNITS - 1) * len(_SYLLABIC_CHAR.findall(text))


def expected_audio_ms(text: str) -> int:
    """Expected speech for `text`, at least 1 ms. A run of whitespace counts as one character."""
    spoken = _WHITESPACE_RUN.sub(" ", text).strip()
    return max(1, round(speech_units(spoken) * 1000 / UNITS_PER_S))
