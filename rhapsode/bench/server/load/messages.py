"""What a client process is told, and what it says, a line of JSON each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rhapsode.bench.server.load.arrivals import Pattern
from rhapsode.bench.server.orders import Language, Level, Speaking
from rhapsode.bench.server.texts.bank import TextChoice


@dataclass(frozen=True, slots=True)
class OpenLoad:
    """Requests come by the clock. rate: a second, of all clients together."""

    rate: float
    pattern: Pattern = "poisson"
    kind: Literal["open"] = "open"

    @property
    def name(self) -> str:
        return f"{self.rate:g} a second"


@dataclass(frozen=True, slots=True)
class ClosedLoad:
    """So many requests are always in flight, of all clients together."""

    streams: int
    kind: Literal["closed"] = "closed"

    @property
    def name(self) -> str:
        return f"{self.streams} streams" if self.streams > 1 else "1 stream"


@dataclass(frozen=True, slots=True)
class RecordedLoad:
    """Requests come as somebody's once came. due_s: from the stage's beginning, in order, of all clients together."""

    label: str
    due_s: tuple[float, ...]
    kind: Literal["recorded"] = "recorded"

    @property
    def name(self) -> str:
        return f"as in {self.label}"


Load = OpenLoad | ClosedLoad | RecordedLoad


@dataclass(frozen=True, slots=True)
class ClientTask:
    """The part of client `which` of `of` in one stage. All times are in seconds from its beginning.

    warm_up_s: what begins before that is not counted. ends_s: nothing begins after it. timeout_s: for one request,
    from its connection on.
    """

    target: str
    speaking: Speaking
    texts: TextChoice
    load: Load
    which: int
    of: int
    warm_up_s: float
    ends_s: float
    timeout_s: float


@dataclass(frozen=True, slots=True)
class Ready:
    """The client has loaded what it needs and waits for the beginning."""

    kind: Literal["ready"] = "ready"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One request. Times are seconds; those of the answer from the moment it was sent; None: it did not come to that.

    due_s: when it was to begin, from the stage's beginning. is_counted: it began behind the warm-up. lag_s: how much
    later its client began it. connect_s: until its connection stood. first_byte_s, playable_s, audible_s: to the first
    byte, the first sample, and the first sound as it is played. total_s: to the end. audio_s: of speech;
    window_audio_s: of it within the measured time. gaps, gap_s, longest_gap_s: of a listener who plays at once;
    buffer_s: the patience with which there would have been none. error: None if it was heard whole.
    """

    number: int
    level: Level
    language: Language
    chars: int
    due_s: float
    is_counted: bool
    lag_s: float = 0.0
    connect_s: float | None = None
    first_byte_s: float | None = None
    playable_s: float | None = None
    audible_s: float | None = None
    total_s: float | None = None
    audio_s: float = 0.0
    window_audio_s: float = 0.0
    gaps: int = 0
    gap_s: float = 0.0
    longest_gap_s: float = 0.0
    buffer_s: float = 0.0
    error: str | None = None
    kind: Literal["outcome"] = "outcome"


@dataclass(frozen=True, slots=True)
class Stall:
    """The longest that the client's own loop came too late in the last second: what it measures is late by as much."""

    worst_s: float
    kind: Literal["stall"] = "stall"


Message = Ready | Outcome | Stall
