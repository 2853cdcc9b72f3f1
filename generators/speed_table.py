"""The table of speeds in README.md, from the results of `rhapsode bench` in `benchmarks/results/`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from generators.files import ROOT, Files
from rhapsode.bench.engine.report import BenchReport, ModelReport
from rhapsode.bench.statistics import percentile

PAGE = Path("README.md")
RESULTS = Path("benchmarks/results")
BEGIN = "<!-- speeds: made by `make generated` from benchmarks/results/ -->"
END = "<!-- end of speeds -->"


def speed_table() -> Files:
    reports = [BenchReport.read(path) for path in sorted((ROOT / RESULTS).glob("*.json"))]
    return {PAGE: with_table((ROOT / PAGE).read_text(), reports)}


def with_table(page: str, reports: Sequence[BenchReport]) -> str:
    """The page with the table between its marks. Raises ValueError where there are none."""
    before, begin, rest = page.partition(f"{BEGIN}\n")
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE} has no marks for the table of speeds")
    return f"{before}{begin}{table(reports)}{end}{after}"


def table(reports: Sequence[BenchReport]) -> str:
    """Nothing where nothing was measured."""
    if not any(report.models for report in reports):
        return ""
    heads = ("measured on", "model", "seconds of audio a second, by streams", "first audio", "slots by memory")
    rows = [_row(report, model) for report in reports for model in report.models]
    lines = [_line(heads), _line(["---"] * len(heads)), *map(_line, rows)]
    commands = [f"`{each.environment.command}`, commit {each.environment.commit or 'unknown'}" for each in reports]
    return "\n".join(["", *lines, "", "By " + "; ".join(dict.fromkeys(commands)) + ".", "", ""])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _row(report: BenchReport, model: ModelReport) -> list[str]:
    device = report.device.name if report.device is not None else "unknown"
    bits = "" if model.precision == "bfloat16" else f", {model.precision}"
    return [device, f"{model.model}{bits}", _speeds(model), _first_audio(model), _slots(model)]


def _speeds(model: ModelReport) -> str:
    rows = sorted(model.closed_loop, key=lambda row: row.streams)
    return ", ".join(f"{row.streams}: {row.audio_s_per_s:,.0f}" for row in rows)


def _first_audio(model: ModelReport) -> str:
    rows = sorted(model.first_audio, key=lambda row: row.running)
    return ", ".join(f"{_beside(row.running)} {percentile(row.waits_ms, 0.5):.0f} ms" for row in rows)


def _beside(running: int) -> str:
    return f"beside {running}" if running else "alone"


def _slots(model: ModelReport) -> str:
    return ", ".join(_cards(model))


def _cards(model: ModelReport) -> Iterator[str]:
    for card in model.started.cards if model.started is not None else ():
        yield f"{card.gib} GiB: {card.slots or 'none'}"
