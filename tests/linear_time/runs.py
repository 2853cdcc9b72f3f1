"""Runs of marks, and whether the time for one grows with its length or with the square of it."""

from __future__ import annotations

import gc
import string
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

SHORT, LONG = 50_000, 200_000

PROBES = ((1_000, 4_000), (3_125, 12_500), (12_500, SHORT))
SQUARE_S = 0.4
"""What is quadratic in the time for a run of `LONG`, at the most. Nearly everything is let go after one of the probes,
without the long texts."""

SHORT_FLOOR_S = 0.02

MOST_TIMES = 8.0
"""For four times as much: four times the time is linear, sixteen is the square."""

TRIES = 3

MARKS = (
    *string.punctuation,
    *" \t\n\r\x00\u00a0\u2028\u2029\u3000\u200b",
    *"1aZéЖ가字あ",
    *"…–—−―«»“”„‘’¿¡·†§",
    *"。！？、，；：｡「」『』（）【】《》",
    *"\u0301\u200d\U0001f98a\U0001f1e9ªº°€£①",
)
PAIRS = (
    *("!?", "?!", "a.", "1.", "1,", "1:", "1-", "1 ", "a ", "a\n", "\n ", " \n", "\r\n", "a'", "a-", "-a", ". ", ", "),
    *('."', '. "', '." ', ".” ", "! ", "… ", "。字", "字 ", "。」", "가. ", "—a", " —", "0,0", "1.000 ", "10:1", "$1"),
    *(
        "<a",
        "<a>",
        "<a ",
        "</",
        "<!",
        "<?",
        "<!--",
        "&#",
        "&a",
        "&a;",
        "a=",
        'a="',
        "a='",
        "[[",
        "![",
        "[^",
        "]]",
        "](",
    ),
    *("``", "`` ", "~~", "**", "*a", "_a", "__", "| ", "|-", "> ", "- ", "1. ", "# ", "((", "))", "{a", "\\\\", '\\"'),
    *("1 000 ", "(a)", "6-4, ", "101, ", "i, ", "I-I, ", "1:1-", "1.1."),
    *("/a", "//", "://", "a@", "%a", "a;", "a: ", "a\t", "No. ", "I. ", "Dr. ", "der 1. ", "---\n", "a:\n", "\n\n a"),
)
UNITS = (*MARKS, *PAIRS)


@dataclass(frozen=True)
class Growth:
    """unit: what was repeated. short_s and long_s: the time for some of it, and for four times as much."""

    unit: str
    short_s: float
    long_s: float

    def __str__(self) -> str:
        return f"runs of {self.unit!r}: {self.short_s:.3f} s, four times as many {self.long_s:.3f} s"


def run_of(unit: str, length: int) -> str:
    """Of about so many characters: a run that something else ends, and one that ends with the text."""
    half = unit * (length // 2 // len(unit))
    return f"{half}\x01x {half}"


def steep(work: Callable[[str], object], units: Sequence[str] = UNITS) -> Iterator[Growth]:
    """Runs for which the time of `work` grows faster than their length."""
    for unit in units:
        if any(_is_surely_linear(work, unit, *probe) for probe in PROBES):
            continue
        # A square shows at these already, long before `LONG` takes a minute.
        for lengths in (PROBES[-1], (SHORT, LONG)):
            growth = _growth(work, unit, *lengths)
            if growth is not None:
                yield growth
                break


def _is_surely_linear(work: Callable[[str], object], unit: str, short: int, long: int) -> bool:
    """What the longer run takes beyond four times the shorter one is little, even if all of it is a square."""
    little_s = SQUARE_S * (long / LONG) ** 2
    longer_s = _time_s(work, run_of(unit, long))
    return longer_s < little_s or longer_s - 4 * _time_s(work, run_of(unit, short)) < little_s


def _growth(work: Callable[[str], object], unit: str, short: int, long: int) -> Growth | None:
    """Of two lengths, one four times the other."""
    return steeper(work, unit, run_of(unit, short), run_of(unit, long))


def steeper(work: Callable[[str], object], unit: str, short: str, long: str) -> Growth | None:
    """If `work` takes more than linear time for texts, one four times the other; timed again before that is said."""
    texts = short, long
    short_s, long_s = (_time_s(work, text) for text in texts)
    if long_s < SHORT_FLOOR_S or long_s <= MOST_TIMES * short_s:
        return None
    short_s, long_s = (min(_time_s(work, text) for _ in range(TRIES)) for text in texts)
    return Growth(unit, short_s, long_s) if long_s > MOST_TIMES * short_s else None


def _time_s(work: Callable[[str], object], text: str) -> float:
    """Of this thread, as others may want the core; without looks for garbage, which take longer the more there is."""
    gc.disable()
    try:
        started_s = time.thread_time()
        work(text)
        return time.thread_time() - started_s
    finally:
        gc.enable()
