"""What a measurement does, in order: a stage for each number of streams and for each rate, then the ramp. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rhapsode.bench.server.load import ClosedLoad, Load, OpenLoad, Pattern, RecordedLoad
from rhapsode.bench.server.orders import BOUNDS, SpeechTarget, TextChoice, TextLevel
from rhapsode.bench.statistics import LEAST_VALUES_FOR_P95

STREAMS = (1, 4, 16)
RATES = (0.5, 2.0)
WINDOW_S = 20.0
WARM_UP_S = 5.0

TIMEOUT_S = 120.0

QUICK_STREAMS = (1, 4)
QUICK_RATES = (0.5, 1.0, 2.0, 4.0)
"""One of them, by the server's speed."""
QUICK_WINDOW_S = 18.0
QUICK_WARM_UP_S = 2.0
QUICK_S = 90.0
QUICK_TURN_WARM_UP_S = 1.0
QUICK_TURN_S = 4.0
"""Where two servers take three turns at each load in that time."""


@dataclass(frozen=True, slots=True)
class BenchPlan:
    """warm_up_s, window_s: of each stage. timeout_s: of a request. seconds: of all; a stage that would not fit is left
    out. clients: processes that the requests are divided among. ramp_to: streams up to which, behind the loads, the
    most that are carried are looked for; None: they are not. quality_texts: how many are spoken at the end to be
    judged; recordings: where those are kept, None: nowhere; like: a recording whose voice they are to have; whisper: a
    folder of weights that reads them.
    """

    target: str
    speaking: SpeechTarget
    texts: TextChoice
    loads: tuple[Load, ...]
    warm_up_s: float
    window_s: float
    timeout_s: float
    seconds: float
    clients: int
    ramp_to: int | None = None
    quality_texts: int = 0
    recordings: Path | None = None
    like: Path | None = None
    whisper: Path | None = None


def quick_levels(char_s: float, window_s: float) -> tuple[TextLevel, ...]:
    """As many lengths of text, from short to long, as one stream says enough of within a window; the short ones always.

    char_s: the server's seconds for each character.
    """
    levels = tuple(TextLevel)
    fitting = [count for count in range(1, len(levels)) if _text_s(char_s, levels[: count + 1]) * _WANTED <= window_s]
    return levels[: 1 + len(fitting)]


def quick_rate(char_s: float, levels: Sequence[TextLevel]) -> float:
    """The highest of QUICK_RATES that one stream keeps up with, or the lowest."""
    text_s = _text_s(char_s, levels)
    return max((rate for rate in QUICK_RATES if rate * text_s <= 1), default=QUICK_RATES[0])


_WANTED = 1.2 * LEAST_VALUES_FOR_P95


def _text_s(char_s: float, levels: Sequence[TextLevel]) -> float:
    return char_s * sum(sum(BOUNDS[level]) / 2 for level in levels) / len(levels)


def read_recorded(path: Path) -> RecordedLoad:
    """A line of the file for each request: the second at which it came, from any zero. Raises ValueError for others."""
    moments = sorted(float(line) for line in path.read_text(encoding="utf-8").split())
    if not moments or not all(map(math.isfinite, moments)):
        raise ValueError("no number of seconds for each request, a line each")
    return RecordedLoad(path.name, tuple(round(moment - moments[0], 6) for moment in moments))


def plan_loads(streams: Sequence[int], rates: Sequence[float], pattern: Pattern) -> tuple[Load, ...]:
    """Closed loops first, from few to many: what they find is what a rate can be judged by."""
    closed: list[Load] = [ClosedLoad(number) for number in sorted(set(streams))]
    return (*closed, *(OpenLoad(rate, pattern) for rate in sorted(set(rates))))


NEAR = 8
"""An eighth of what is carried: nearer is within what two runs differ by."""


def next_streams(tried: Mapping[int, bool], most: int) -> int | None:
    """The number to try next, of 1 to `most`; None once it is known. tried: whether each of them was carried.

    What lies above a number that was not carried is not tried, even if some of it was by chance.
    """
    failed = min((streams for streams, is_carried in tried.items() if not is_carried), default=most + 1)
    carried = max((streams for streams, is_carried in tried.items() if is_carried and streams < failed), default=0)
    if failed - carried <= max(1, carried // NEAR):
        return None
    return min(most, 2 * carried or 1) if failed > most else (carried + failed) // 2
