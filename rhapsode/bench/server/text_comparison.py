"""A comparison as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator

from rhapsode.bench.server.comparison import Comparison, Difference
from rhapsode.bench.text_table import table


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


def _cells(found: Difference) -> list[str]:
    interval = found.interval
    if interval is None:
        return [found.load, found.figure, "-", "-", found.verdict]
    bounds = f"{interval.least:.2f} to {interval.most:.2f}"
    return [found.load, found.figure, f"{interval.ratio:.2f}", bounds, found.verdict]
