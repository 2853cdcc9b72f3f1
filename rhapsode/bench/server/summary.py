"""What the requests of a stage come to. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rhapsode.bench.server.load.messages import ClosedLoad, Load, Outcome
from rhapsode.bench.statistics import percentile


@dataclass(frozen=True, slots=True)
class Spread:
    """Of `samples` values; seconds, or a ratio."""

    samples: int
    mean: float
    p50: float
    p95: float
    p99: float
    most: float


@dataclass(frozen=True, slots=True)
class Summary:
    """Of the requests that began behind the warm-up; `requests` of them, `whole` of which were heard to the end.

    errors: how often each was met. Spreads are of what was heard whole (first_byte, playable and audible of all that
    came so far), None where there was nothing. rtf: seconds to the end for each second of speech. with_gaps: whole ones
    in which somebody with the listener's buffer would have heard a hole. buffer: the one that avoids it. audio_s_per_s,
    frames_per_s: speech, and codec frames, that came within the window; requests_per_s: what was heard whole and ended
    in it. lag: of the clients, which began a request so much too late.
    """

    requests: int
    whole: int
    errors: dict[str, int]
    first_byte: Spread | None
    playable: Spread | None
    audible: Spread | None
    total: Spread | None
    rtf: Spread | None
    connect: Spread | None
    lag: Spread | None
    buffer: Spread | None
    audio: Spread | None
    with_gaps: int
    longest_gap_s: float
    audio_s_per_s: float
    requests_per_s: float
    frames_per_s: float | None


def summarize(
    outcomes: Sequence[Outcome], begins_s: float, ends_s: float, frame_s: float | None, listener_buffer_s: float
) -> Summary:
    """begins_s, ends_s: of the window, from the stage's beginning; audio is counted in it whichever request it is of.

    listener_buffer_s: how long who listens waits behind the first sample before it is played.
    """
    counted = [each for each in outcomes if each.is_counted]
    whole = [each for each in counted if each.error is None]
    window_s = max(ends_s - begins_s, 1e-9)
    audio_s_per_s = sum(each.window_audio_s for each in outcomes) / window_s
    ended = [end for each in outcomes if each.error is None if (end := ended_s(each)) is not None]
    return Summary(
        requests=len(counted),
        whole=len(whole),
        errors=dict(Counter(each.error for each in counted if each.error is not None).most_common()),
        first_byte=spread(each.first_byte_s for each in counted),
        playable=spread(each.playable_s for each in counted),
        audible=spread(each.audible_s for each in counted),
        total=spread(each.total_s for each in whole),
        rtf=spread(rtf(each) for each in whole),
        connect=spread(each.connect_s for each in counted),
        lag=spread(each.lag_s for each in counted),
        buffer=spread(each.buffer_s for each in whole),
        audio=spread(each.audio_s for each in whole),
        with_gaps=sum(each.buffer_s > listener_buffer_s for each in whole),
        longest_gap_s=max((each.longest_gap_s for each in whole), default=0.0),
        audio_s_per_s=audio_s_per_s,
        requests_per_s=sum(begins_s <= end < ends_s for end in ended) / window_s,
        frames_per_s=None if frame_s is None else audio_s_per_s / frame_s,
    )


def ended_s(outcome: Outcome) -> float | None:
    """From the stage's beginning; None for what did not come to an end."""
    if outcome.total_s is None:
        return None
    return outcome.due_s + outcome.lag_s + (outcome.connect_s or 0.0) + outcome.total_s


def rtf(outcome: Outcome) -> float | None:
    return outcome.total_s / outcome.audio_s if outcome.total_s is not None and outcome.audio_s else None


def spread(values: Iterable[float | None]) -> Spread | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    p50, p95, p99 = (percentile(known, share) for share in (0.5, 0.95, 0.99))
    return Spread(len(known), sum(known) / len(known), p50, p95, p99, max(known))


def is_carried(load: Load, summary: Summary) -> bool:
    """Whether so many streams were spoken as fast as they are heard: every one whole, none with a hole in it."""
    return (
        isinstance(load, ClosedLoad)
        and 0 < summary.whole == summary.requests
        and summary.with_gaps == 0
        and summary.rtf is not None
        and summary.rtf.most < 1
    )
