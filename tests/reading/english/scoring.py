"""The gold file of the English front end: sentences as written, the readings of a narrator, and how a result is judged.

`gold.tsv` has three columns: class, as written, readings. `{a}` may be there or not, `{a|b}` is one of both (braces may
stand in braces), ` | ` stands between whole readings. `held_out.tsv` is the same by another hand that had seen neither
rules nor gold file; so are the first 200 items of `third_hand.tsv`, and its last 60 were written behind the rules.
Marks without a sound, hyphens and capitals make no difference. What must stay as it is has the class `untouched` and no
reading.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from reading.script.script import plain_script
from reading.spelling.respelling import Respell, respelt
from reading.spelling.spoken import SpokenText

GOLD = Path(__file__).with_name("gold.tsv")
HELD_OUT = Path(__file__).with_name("held_out.tsv")
THIRD_HAND = Path(__file__).with_name("third_hand.tsv")
UNTOUCHED = "untouched"

_CHOICE = re.compile(r"\{([^{}]*)\}")
_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)*|[^\w\s.,;:!?\"“”‘’'()*—–…-]|_")


class Verdict(enum.Enum):
    RIGHT = "right"
    UNTOUCHED = "untouched"
    """Left as it was although there is a reading: no harm is done."""

    WRONG = "wrong"
    HALF = "half-converted"
    """Wrong, and digits or signs of what was to be read are still there beside words."""


@dataclass(frozen=True, slots=True)
class Item:
    kind: str
    written: str
    readings: tuple[str, ...]

    def verdict(self, spoken: str) -> Verdict:
        if self.kind == UNTOUCHED:
            return Verdict.RIGHT if spoken == self.written else _how_wrong(spoken)
        if _tokens(spoken) in [_tokens(reading) for reading in self.readings]:
            return Verdict.RIGHT
        return Verdict.UNTOUCHED if spoken == self.written else _how_wrong(spoken)


def items_of(file: Path) -> tuple[Item, ...]:
    lines = file.read_text(encoding="utf-8").splitlines()
    return tuple(_item(*line.split("\t")) for line in lines)


def spoken_by(respell: Respell, written: str) -> str:
    script = respelt(plain_script(written), respell)
    return SpokenText(script.text, script.replacements).text


def _item(kind: str, written: str, readings: str) -> Item:
    return Item(kind, written, tuple(each for reading in readings.split(" | ") for each in _expanded(reading)))


def _expanded(reading: str) -> Iterator[str]:
    """Every reading that its braces leave open, the innermost first."""
    choice = _CHOICE.search(reading)
    if choice is None:
        yield reading
        return
    for chosen in choice[1].split("|") if "|" in choice[1] else (choice[1], ""):
        yield from _expanded(reading[: choice.start()] + chosen + reading[choice.end() :])


def _how_wrong(spoken: str) -> Verdict:
    return Verdict.HALF if re.search(r"[\d$£€¥¢%°=+@#&_\\/±~≤≥♭♯♮§α-ωΑ-Ω]", spoken) else Verdict.WRONG


def _tokens(text: str) -> list[str]:
    return [token.casefold().replace("’", "'") for token in _TOKEN.findall(text)]
