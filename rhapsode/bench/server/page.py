"""A measurement as one HTML file that needs nothing else: plots, tables, what went wrong, where it was measured."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from rhapsode.bench.report import Environment
from rhapsode.bench.server.load import ClosedLoad, OpenLoad
from rhapsode.bench.server.orders import TextLevel
from rhapsode.bench.server.quality import JudgedQuality
from rhapsode.bench.server.report import ServerReport, StageReport
from rhapsode.bench.server.text_report import failures, length_rows, load_rows, quality_rows, quality_verdicts, verdicts
from rhapsode.bench.statistics import mean

WIDTH, HEIGHT = 560, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 16, 48
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
COLOURS = 6
"""Classes `c0` to `c5` of the page's style, each with its own dash and mark."""


@dataclass(frozen=True, slots=True)
class Series:
    """points: (x, y), in the order in which they are joined. has_marks: one at each point."""

    name: str
    points: Sequence[tuple[float, float]]
    has_marks: bool = True


@dataclass(frozen=True, slots=True)
class Plot:
    """x_label, y_label: with their units. Both axes begin at 0."""

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]


def ticks(most: float, wanted: int = 5) -> list[float]:
    """From 0 to the first that is not below `most`, in steps that read well."""
    if not 0 < most < math.inf:
        return [0.0, 1.0]
    rough = most / wanted
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * each for each in _STEPS if power * each >= rough * (1 - 1e-9))
    return [step * number for number in range(math.ceil(most / step - 1e-9) + 1)]


def svg(plot: Plot) -> str:
    points = [point for series in plot.series for point in series.points]
    if not points:
        raise ValueError("a plot of nothing")
    axes = _Axes(ticks(max(x for x, _ in points)), ticks(max(y for _, y in points)))
    parts = [*_frame(axes, plot), *(line for n, each in enumerate(plot.series) for line in _line(axes, each, n))]
    label = escape(plot.title, quote=True)
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


@dataclass(frozen=True, slots=True)
class _Axes:
    x_ticks: Sequence[float]
    y_ticks: Sequence[float]

    def x(self, value: float) -> float:
        return round(_LEFT + (WIDTH - _LEFT - _RIGHT) * value / self.x_ticks[-1], 2)

    def y(self, value: float) -> float:
        return round(HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * value / self.y_ticks[-1], 2)


def _frame(axes: _Axes, plot: Plot) -> Iterator[str]:
    for value in axes.y_ticks:
        at = axes.y(value)
        yield f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{at}" y2="{at}"/>'
        yield f'<text x="{_LEFT - 8}" y="{at + 4}" text-anchor="end">{value:,g}</text>'
    for value in axes.x_ticks:
        at, bottom = axes.x(value), HEIGHT - _BOTTOM
        yield f'<line class="grid" x1="{at}" x2="{at}" y1="{bottom}" y2="{bottom + 5}"/>'
        yield f'<text x="{at}" y="{bottom + 20}" text-anchor="middle">{value:,g}</text>'
    middle_x, middle_y = (_LEFT + WIDTH - _RIGHT) / 2, (_TOP + HEIGHT - _BOTTOM) / 2
    yield f'<text class="label" x="{middle_x}" y="{HEIGHT - 8}" text-anchor="middle">{escape(plot.x_label)}</text>'
    turned = f'transform="rotate(-90 14 {middle_y})"'
    yield f'<text class="label" x="14" y="{middle_y}" text-anchor="middle" {turned}>{escape(plot.y_label)}</text>'


def _line(axes: _Axes, series: Series, number: int) -> Iterator[str]:
    colour = f"c{number % COLOURS}"
    places = [(axes.x(x), axes.y(y)) for x, y in series.points]
    yield f'<polyline class="{colour}" points="{" ".join(f"{x},{y}" for x, y in places)}"/>'
    if series.has_marks:
        for (x, y), (value_x, value_y) in zip(places, series.points, strict=True):
            told = escape(f"{series.name}: {value_y:,.4g} at {value_x:,.4g}")
            yield f'<circle class="{colour}" cx="{x}" cy="{y}" r="3.5"><title>{told}</title></circle>'


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


def quality_plots(quality: JudgedQuality) -> Iterator[Plot]:
    """By length of text: what share of its words and letters was read otherwise, and how good it sounds."""
    levels = [[each for each in quality.samples if each.level is level] for level in TextLevel]
    found = [(sum(len(each.text) for each in samples) / len(samples), samples) for samples in levels if samples]
    shares: dict[str, list[tuple[float, float]]] = {"words": [], "letters": []}
    scores: list[tuple[float, float]] = []
    for chars, samples in found:
        judged = [each.judged for each in samples if each.judged is not None]
        if words := sum(each.words or 0 for each in judged):
            shares["words"].append((chars, 100 * sum(each.errors or 0 for each in judged) / words))
        if letters := sum(each.characters or 0 for each in judged):
            shares["letters"].append((chars, 100 * sum(each.character_errors or 0 for each in judged) / letters))
        if (score := mean(each.mos for each in judged)) is not None:
            scores.append((chars, score))
    if drawn := [Series(name, points) for name, points in shares.items() if points]:
        yield Plot("Read otherwise, by length", "characters", "% of them", drawn)
    if scores:
        yield Plot("How good it sounds, by length", "characters", "distillMOS, 1 to 5", [Series("mean", scores)])


def _waits(title: str, x_label: str, stages: Sequence[tuple[float, StageReport]]) -> Iterator[Plot]:
    found = [(x, stage.summary.audible) for x, stage in stages]
    known = [(x, audible) for x, audible in found if audible is not None]
    if known:
        median = Series("median", [(x, 1000 * audible.p50) for x, audible in known])
        p95 = Series("p95", [(x, 1000 * audible.p95) for x, audible in known if audible.has_p95])
        yield Plot(title, x_label, "ms", [median, *([p95] if p95.points else [])])


def _throughput(stages: Sequence[tuple[float, StageReport]]) -> Iterator[Plot]:
    if any(stage.summary.audio_s_per_s for _, stage in stages):
        spoken = Series("spoken", [(x, stage.summary.audio_s_per_s) for x, stage in stages])
        needed = Series("as fast as they play", [(0.0, 0.0), *((x, x) for x, _ in stages)], has_marks=False)
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


_STYLE = Path(__file__).with_name("page.css")


def write_page(report: ServerReport, path: Path) -> None:
    path.write_text(page(report), encoding="utf-8")


def page(report: ServerReport) -> str:
    title = escape(f"Speech of {report.asked.url}")
    parts = "\n".join(_parts(report))
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    style = _STYLE.read_text(encoding="utf-8")
    body = f"<h1>{title}</h1>\n{parts}"
    document = f'<html lang="en"><head>{head}<style>\n{style}</style></head>\n<body>\n{body}\n</body></html>'
    return f"<!doctype html>\n{document}\n"


def _parts(report: ServerReport) -> Iterator[str]:
    asked = report.asked
    named = {"kind": asked.target, "model": asked.model, "voice": asked.voice, "to be spoken": asked.instructions}
    told = ", ".join(f"{name} {value}" for name, value in named.items() if value)
    texts = f"texts of {', '.join(asked.levels)} length in {', '.join(asked.languages)}"
    yield f"<p>{escape(f'{told}; {texts}.')}</p>"
    if report.ended != "complete":
        yield f'<p class="warning">The run was {report.ended} after {report.wall_s:.0f} s: this is what there was.</p>'
    if report.stages:
        yield from (f"<p>{escape(each)}</p>" for each in verdicts(report))
        yield '<div class="plots">'
        yield from map(_figure, plots(report))
        yield "</div>"
        yield from _table("By load", load_rows(report))
        yield from _table("By length of text", length_rows(report))
    if report.quality is not None:
        yield '<div class="plots">'
        yield from map(_figure, quality_plots(report.quality))
        yield "</div>"
        yield from _table("As it sounds", quality_rows(report.quality))
        yield from (f"<p>{escape(each)}</p>" for each in quality_verdicts(report.quality))
    wrong = [line for stage in report.stages for line in failures(stage)]
    wrong += [f"{left.stage} was left out: {left.why}" for left in report.left_out]
    if wrong:
        yield "<h2>What went wrong</h2><ul>"
        yield from (f"<li>{escape(each)}</li>" for each in wrong)
        yield "</ul>"
    yield from _environment(report.environment)


def _figure(plot: Plot) -> str:
    keys = "".join(f"<li>{_key(number)}{escape(each.name)}</li>" for number, each in enumerate(plot.series))
    return f"<figure><figcaption>{escape(plot.title)}</figcaption>{svg(plot)}<ul>{keys}</ul></figure>"


def _key(number: int) -> str:
    line = f'<polyline class="c{number % COLOURS}" points="0,5 28,5"/>'
    return f'<svg viewBox="0 0 28 10" aria-hidden="true">{line}</svg>'


def _table(title: str, rows: list[list[str]]) -> Iterator[str]:
    heads, *cells = rows
    yield f'<h2>{title}</h2><div class="wide"><table><thead><tr>{_row("th", heads)}</tr></thead><tbody>'
    yield from (f"<tr>{_row('td', row)}</tr>" for row in cells)
    yield "</tbody></table></div>"


def _row(kind: str, cells: list[str]) -> str:
    return "".join(f"<{kind}>{escape(cell)}</{kind}>" for cell in cells)


def _environment(found: Environment) -> Iterator[str]:
    yield "<h2>Measured with</h2><dl>"
    for name, value in found.model_dump(mode="json").items():
        if value is not None:
            yield f"<dt>{escape(name.replace('_', ' '))}</dt><dd>{escape(str(value))}</dd>"
    yield "</dl>"
