"""A report as a person reads it: a table, a plot of bars, and the slots of other cards."""

from __future__ import annotations

from collections.abc import Iterator

from rhapsode.bench.cost import cost_of_audio_hour
from rhapsode.bench.engine.report import BenchReport, ModelReport
from rhapsode.bench.statistics import percentile
from rhapsode.bench.text_table import table
from worker.bench.messages import ClosedLoop, Device

_GIB = 1 << 30
_BAR = 40
_EIGHTHS = " ▏▎▍▌▋▊▉"


def text_report(report: BenchReport) -> str:
    return "\n".join(_lines(report)) + "\n"


def _lines(report: BenchReport) -> Iterator[str]:
    if report.device is not None:
        yield _device_line(report.device, report)
    for model in report.models:
        yield ""
        yield from _model_lines(model, report.price_per_gpu_hour)
    if report.ended != "complete":
        yield ""
        yield f"The run was {report.ended} after {report.wall_s:.0f} s: this is what there was."


def _device_line(device: Device, report: BenchReport) -> str:
    parts = [device.name]
    if device.memory_bytes is not None:
        parts.append(f"{device.memory_bytes / _GIB:.0f} GiB, capability {device.capability}")
    commit = f" ({report.environment.commit})" if report.environment.commit else ""
    return ", ".join([*parts, f"torch {device.torch}", f"Rhapsode {report.environment.version}{commit}"])


def what_was_measured(model: ModelReport) -> str:
    weights = {
        "random": f"{model.model} with random weights of the published dimensions, which cost what real ones cost",
        "small voice": "the small voice, which is tiny: these are no figures of a published model",
        "given": f"{model.model}, the checkpoint that was given",
    }[model.weights]
    bits = "" if model.precision == "bfloat16" else f", cache and MLPs in {model.precision}"
    return f"{weights}{bits}; requests of {model.request_s[0]:g} to {model.request_s[1]:g} s of speech"


def _model_lines(model: ModelReport, price: float | None) -> Iterator[str]:
    yield what_was_measured(model)
    if model.started is not None:
        yield f"started in {model.started.start_s:.0f} s with {model.started.slots} slots"
    if model.closed_loop:
        yield ""
        yield from _table(model, price)
        yield ""
        yield from plot(model.closed_loop)
    for row in sorted(model.first_audio, key=lambda row: row.running):
        beside = f"beside {row.running} that are heard" if row.running else "alone"
        p50, p95 = (percentile(row.waits_ms, share) for share in (0.5, 0.95))
        yield f"first audio {beside}: {p50:.1f} ms, p95 {p95:.1f} ms ({len(row.waits_ms)} samples)"
    yield from _cards(model)
    for failed in model.failed:
        yield f"FAILED  {failed.stage}: {failed.error}"
    for left in model.left_out:
        yield f"left out  {left.stage}: {left.why}"


def _table(model: ModelReport, price: float | None) -> Iterator[str]:
    heads = ["streams", "audio s/s", "× real time each", "memory GiB"]
    rows = [_cells(row) for row in _sorted(model.closed_loop)]
    if price is not None:
        heads.append("cost of an hour of audio")
        for row, cells in zip(_sorted(model.closed_loop), rows, strict=True):
            cells.append(f"{cost_of_audio_hour(price, row.audio_s_per_s):.4f}")
    yield from table([heads, *rows])


def _cells(row: ClosedLoop) -> list[str]:
    memory_gib = f"{row.memory_bytes / _GIB:.1f}"
    return [f"{row.streams}", f"{row.audio_s_per_s:,.1f}", f"{row.real_time_per_stream:.2f}", memory_gib]


def plot(rows: list[ClosedLoop]) -> Iterator[str]:
    """A bar a row, seconds of audio a second against the most there is."""
    most = max(row.audio_s_per_s for row in rows)
    for row in _sorted(rows):
        yield f"{row.streams:>7} │{_bar(row.audio_s_per_s / most)} {row.audio_s_per_s:,.1f}"


def _bar(share: float) -> str:
    eighths = round(share * _BAR * 8)
    return "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")


def _cards(model: ModelReport) -> Iterator[str]:
    if model.started is None or not model.started.cards:
        return
    yield ""
    yield "slots that fit on a GPU of so much memory, computed as at an engine's start from what lies beside them here:"
    for card in model.started.cards:
        what = f"{card.slots} slots of {card.positions:,} positions" if card.slots else "does not fit"
        yield f"{card.gib:>7} GiB  {what}"


def _sorted(rows: list[ClosedLoop]) -> list[ClosedLoop]:
    return sorted(rows, key=lambda row: row.streams)
