"""Lines over two axes as inline SVG. What is written in them is escaped: a server's own words may be among it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 560, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 16, 48
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
COLOURS = 6
"""Classes `c0` to `c5` of the page's style, each with a dash and a mark of its own."""


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
