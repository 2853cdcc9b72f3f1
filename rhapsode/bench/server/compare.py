"""Two measurements side by side: what differs, by how much, how sure that is, and what was not alike. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rhapsode.bench.server.load import MeasuredRequest
from rhapsode.bench.server.report import ServerReport, StageReport, rtf
from rhapsode.bench.statistics import RatioInterval, quantile_ratio, total_ratio
from rhapsode.bench.text import table

_QUANTILES: tuple[tuple[str, float, Callable[[MeasuredRequest], float | None]], ...] = (
    ("first sound, median", 0.5, lambda each: each.audible_s),
    ("first sound, p95", 0.95, lambda each: each.audible_s),
    ("whole, median", 0.5, lambda each: each.total_s),
    ("RTF, median", 0.5, rtf),
)
AUDIO = "audio a second"


@dataclass(frozen=True, slots=True)
class FigureDifference:
    """Of one figure at one load. interval: of the second's for each of the first's; None: too few values to say.

    is_more_better: as of speech a second; of a wait it is worse.
    """

    load: str
    figure: str
    interval: RatioInterval | None
    is_more_better: bool

    def is_worse_by(self, factor: float) -> bool:
        """Whether all of the interval lies beyond it: a wait of so many times as much, or speech of such a part."""
        found = self.interval
        if found is None:
            return False
        return found.most < 1 / factor if self.is_more_better else found.least > factor

    @property
    def verdict(self) -> str:
        found = self.interval
        if found is None:
            return "too few to tell"
        if not found.is_different:
            return "no difference seen"
        return "better" if (found.ratio > 1) == self.is_more_better else "worse"


@dataclass(frozen=True, slots=True)
class Comparison:
    """unlike: what was not the same in both, beside the server. only_one: loads that one of them lacks."""

    differences: tuple[FigureDifference, ...]
    unlike: tuple[str, ...]
    only_one: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """In words, of all of it."""
        said = [each.verdict for each in self.differences]
        better, worse = said.count("better"), said.count("worse")
        if not said or said.count("too few to tell") == len(said):
            return "Too little was measured to tell which is better."
        if not better and not worse:
            return "No difference seen."
        parts = [f"better in {better}" if better else "", f"worse in {worse}" if worse else ""]
        same = said.count("no difference seen")
        rest = f", no difference seen in {same}" if same else ""
        return f"Of {len(said)} figures the second is {' and '.join(part for part in parts if part)}{rest}."


def compare(first: ServerReport, second: ServerReport) -> Comparison:
    """By the loads that both have."""
    others = {stage.load: stage for stage in second.stages}
    both = [(stage, others[stage.load]) for stage in first.stages if stage.load in others]
    shared = {stage.load for stage, _ in both}
    return Comparison(
        tuple(each for ours, theirs in both for each in _differences(ours, theirs)),
        tuple(_unlike(first, second)),
        tuple(stage.load.name for stage in (*first.stages, *second.stages) if stage.load not in shared),
    )


def _differences(first: StageReport, second: StageReport) -> Iterator[FigureDifference]:
    for figure, share, read in _QUANTILES:
        interval = quantile_ratio(_column(first, read), _column(second, read), share)
        yield FigureDifference(first.load.name, figure, interval, is_more_better=False)
    yield FigureDifference(first.load.name, AUDIO, _audio_ratio(first, second), is_more_better=True)


def _audio_ratio(first: StageReport, second: StageReport) -> RatioInterval | None:
    ours, theirs = ([each.window_audio_s for each in stage.requests] for stage in (first, second))
    ours_s, theirs_s = (stage.ends_s - stage.begins_s for stage in (first, second))
    return total_ratio(ours, theirs, ours_s / theirs_s) if theirs_s > 0 else None


def _column(stage: StageReport, read: Callable[[MeasuredRequest], float | None]) -> Sequence[float]:
    values = (read(each) for each in stage.requests if each.is_counted and each.error is None)
    return [value for value in values if value is not None]


def _unlike(first: ServerReport, second: ServerReport) -> Iterator[str]:
    ours, theirs = first.asked, second.asked
    for name, one, other in (
        ("the seed of the texts", ours.seed, theirs.seed),
        ("the lengths of the texts", ", ".join(ours.levels), ", ".join(theirs.levels)),
        ("the languages of the texts", ", ".join(ours.languages), ", ".join(theirs.languages)),
        ("the client's CPU", first.environment.cpu, second.environment.cpu),
        ("the client's cores", first.environment.cores, second.environment.cores),
        ("the client's processes", ours.clients, theirs.clients),
    ):
        if one != other:
            yield f"{name}: {one} and {other}"


def text_comparison(comparison: Comparison) -> str:
    return "\n".join(_lines(comparison)) + "\n"


def _lines(comparison: Comparison) -> Iterator[str]:
    if comparison.differences:
        heads = ["load", "figure", "second / first", "95 %", "the second is"]
        yield from table([heads, *map(_cells, comparison.differences)])
        yield ""
    yield comparison.verdict
    yield from (f"not the same: {each}" for each in comparison.unlike)
    if comparison.only_one:
        yield f"measured in one of them alone: {', '.join(comparison.only_one)}"
    yield "Requests are taken as independent of each other, which those of one busy minute are not: a difference that"
    yield "matters is seen again in another run."


def _cells(found: FigureDifference) -> list[str]:
    interval = found.interval
    if interval is None:
        return [found.load, found.figure, "-", "-", found.verdict]
    bounds = f"{interval.least:.2f} to {interval.most:.2f}"
    return [found.load, found.figure, f"{interval.ratio:.2f}", bounds, found.verdict]
