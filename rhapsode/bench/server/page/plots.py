"""Which plots a measurement has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rhapsode.bench.server.load.messages import ClosedLoad, OpenLoad
from rhapsode.bench.server.orders import Level
from rhapsode.bench.server.page.plot import Plot, Series
from rhapsode.bench.server.quality import Quality, Sample
from rhapsode.bench.server.report import ServerReport, StageReport
from worker.speech.judging.messages import Judged

_MOST_STEPS = 200
"""Of a distribution's line: more are not seen, and a long run has a million requests."""


def plots(report: ServerReport) -> Iterator[Plot]:
    """Those that there are figures for."""
    opened = [(stage.load.rate, stage) for stage in report.by_load if isinstance(stage.load, OpenLoad)]
    closed = [(float(stage.load.streams), stage) for stage in report.by_load if isinstance(stage.load, ClosedLoad)]
    yield from _waits("First sound by rate", "requests a second", opened)
    yield from _throughput(closed)
    yield from _waits("First sound by streams", "requests in flight", closed)
    sounds = [(stage, [each.audible_s for each in stage.requests if each.is_counted]) for stage in report.by_load]
    yield from _shares("First sound of how many requests", "ms", 1000.0, sounds)
    wholes = [(stage, [each.total_s for each in stage.requests if each.is_counted]) for stage in report.by_load]
    yield from _shares("All of it of how many requests", "seconds", 1.0, wholes)


def quality_plots(quality: Quality) -> Iterator[Plot]:
    """By length of text: what share of its words and letters was read otherwise, and how good it sounds."""
    levels = [[each for each in quality.samples if each.level is level] for level in Level]
    found = [(sum(len(each.text) for each in samples) / len(samples), samples) for samples in levels if samples]
    wrong = [
        Series(name, [(chars, share) for chars, samples in found if (share := _wrong(samples, counts)) is not None])
        for name, counts in (("words", _words), ("letters", _letters))
    ]
    if drawn := [each for each in wrong if each.points]:
        yield Plot("Read otherwise, by length", "characters", "% of them", drawn)
    scores = [(chars, mos) for chars, samples in found if (mos := _mean_mos(samples)) is not None]
    if scores:
        yield Plot("How good it sounds, by length", "characters", "distillMOS, 1 to 5", [Series("mean", scores)])


def _words(judged: Judged) -> tuple[int, int]:
    return judged.errors or 0, judged.words or 0


def _letters(judged: Judged) -> tuple[int, int]:
    return judged.character_errors or 0, judged.characters or 0


def _wrong(samples: Sequence[Sample], counts: Callable[[Judged], tuple[int, int]]) -> float | None:
    counted = [counts(each.judged) for each in samples if each.judged is not None]
    of = sum(total for _, total in counted)
    return 100 * sum(errors for errors, _ in counted) / of if of else None


def _mean_mos(samples: Sequence[Sample]) -> float | None:
    known = [each.judged.mos for each in samples if each.judged is not None and each.judged.mos is not None]
    return sum(known) / len(known) if known else None


def _waits(title: str, x_label: str, stages: Sequence[tuple[float, StageReport]]) -> Iterator[Plot]:
    found = [(x, stage.summary.audible) for x, stage in stages]
    known = [(x, audible) for x, audible in found if audible is not None]
    if known:
        median = Series("median", [(x, 1000 * audible.p50) for x, audible in known])
        p95 = Series("p95", [(x, 1000 * audible.p95) for x, audible in known])
        yield Plot(title, x_label, "ms", [median, p95])


def _throughput(stages: Sequence[tuple[float, StageReport]]) -> Iterator[Plot]:
    if any(stage.summary.audio_s_per_s for _, stage in stages):
        spoken = Series("spoken", [(x, stage.summary.audio_s_per_s) for x, stage in stages])
        needed = Series("as fast as they are heard", [(0.0, 0.0), *((x, x) for x, _ in stages)], has_marks=False)
        yield Plot("Speech by streams", "requests in flight", "seconds of audio a second", [spoken, needed])


def _shares(
    title: str, x_label: str, scale: float, stages: Sequence[tuple[StageReport, Sequence[float | None]]]
) -> Iterator[Plot]:
    """The share of requests that took at most so long; those that came to nothing never get there."""
    series = [Series(stage.load.name, _steps(values, scale), has_marks=False) for stage, values in stages]
    if drawn := [each for each in series if each.points]:
        yield Plot(title, x_label, "% of requests", drawn)


def _steps(values: Sequence[float | None], scale: float) -> list[tuple[float, float]]:
    known = sorted(scale * value for value in values if value is not None)
    if not known:
        return []
    every = max(1, len(known) // _MOST_STEPS)
    places = [*range(0, len(known), every), len(known) - 1]
    return [(known[0], 0.0), *((known[place], 100 * (place + 1) / len(values)) for place in places)]
