"""A measurement of a server as a person reads it: a row a load, one a length of text, and what went wrong."""

from __future__ import annotations

from collections.abc import Iterator

from rhapsode.bench.cost import cost_of_audio_hour
from rhapsode.bench.server.orders import Level
from rhapsode.bench.server.report import ServerReport, StageReport
from rhapsode.bench.server.summary import Spread, rtf, spread
from rhapsode.bench.server.text_quality import quality_rows, quality_verdicts
from rhapsode.bench.text_table import table

_NOTHING = "-"
_NOTICED_S = 0.01
"""Of a client's own delay: below that it is lost among what is measured."""


def text_report(report: ServerReport) -> str:
    return "\n".join(_lines(report)) + "\n"


def _lines(report: ServerReport) -> Iterator[str]:
    asked = report.asked
    who = ", ".join(part for part in (asked.model, asked.voice) if part)
    yield f"{asked.url} as {asked.target}{f' ({who})' if who else ''}"
    if report.stages:
        yield ""
        yield from table(load_rows(report))
        yield ""
        yield from table(length_rows(report))
        yield ""
        yield from verdicts(report)
    if report.quality is not None:
        yield ""
        yield from table(quality_rows(report.quality))
        yield ""
        yield from quality_verdicts(report.quality)
    for stage in report.stages:
        yield from failures(stage)
    for left in report.left_out:
        yield f"left out  {left.stage}: {left.why}"
    if report.ended != "complete":
        yield f"The run was {report.ended} after {report.wall_s:.0f} s: this is what there was."


def load_rows(report: ServerReport) -> list[list[str]]:
    """Heads first."""
    heads = [
        "load",
        "requests",
        "failed",
        "first byte",
        "audible",
        "p95",
        "whole",
        "p95",
        "RTF",
        "p95",
        "holes",
        "buffer p95",
    ]
    heads += ["audio s/s", "requests/s", "frames/s"]
    rows = [heads, *map(_cells, report.by_load)]
    if any(stage.devices for stage in report.stages):
        rows[0] += ["GPU MiB", "W", "J/audio s"]
        for row, stage in zip(rows[1:], report.by_load, strict=True):
            row += _device_cells(stage)
    return rows


def _device_cells(stage: StageReport) -> list[str]:
    used, audio_s_per_s = stage.devices, stage.summary.audio_s_per_s
    if used is None:
        return [_NOTHING] * 3
    if used.watts is None:
        return [f"{used.memory_mib:,.0f}", _NOTHING, _NOTHING]
    joules = f"{used.watts / audio_s_per_s:.2f}" if audio_s_per_s else _NOTHING
    return [f"{used.memory_mib:,.0f}", f"{used.watts:,.0f}", joules]


def _cells(stage: StageReport) -> list[str]:
    said = stage.summary
    return [
        stage.load.name,
        f"{said.requests}",
        f"{said.requests - said.whole}",
        _median_ms(said.first_byte),
        _median_ms(said.audible),
        _p95_ms(said.audible),
        _median_ms(said.total),
        _p95_ms(said.total),
        _median(said.rtf),
        _p95(said.rtf),
        f"{said.with_gaps}",
        _p95_ms(said.buffer),
        f"{said.audio_s_per_s:,.1f}",
        f"{said.requests_per_s:.2f}",
        _NOTHING if said.frames_per_s is None else f"{said.frames_per_s:,.0f}",
    ]


def length_rows(report: ServerReport) -> list[list[str]]:
    """Heads first; of what was heard whole."""
    rows = [["text", "heard", "characters", "s of speech", "audible", "whole", "RTF"]]
    heard = [each for stage in report.stages for each in stage.requests if each.is_counted and each.error is None]
    for level in Level:
        if of_level := [each for each in heard if each.level is level]:
            chars = spread(float(each.chars) for each in of_level)
            audio = spread(each.audio_s for each in of_level)
            rows.append(
                [
                    level,
                    f"{len(of_level)}",
                    _NOTHING if chars is None else f"{chars.mean:.0f}",
                    _NOTHING if audio is None else f"{audio.mean:.1f}",
                    _median_ms(spread(each.audible_s for each in of_level)),
                    _median_ms(spread(each.total_s for each in of_level)),
                    _median(spread(rtf(each) for each in of_level)),
                ]
            )
    return rows


def verdicts(report: ServerReport) -> Iterator[str]:
    """What the figures mean, and how far they can be trusted."""
    yield "Times are in ms, medians but for p95, from the request's first byte on a connection that stands."
    yield _listener(report.asked.listener_buffer_s)
    if report.carried:
        many = f"{report.carried} streams at once were spoken faster than they are"
        one = "One stream at a time was spoken faster than it is"
        yield f"{many if report.carried > 1 else one} heard, without a hole."
    if report.price_per_hour is not None and report.most_audio_s_per_s:
        cost = cost_of_audio_hour(report.price_per_hour, report.most_audio_s_per_s)
        yield f"An hour of audio costs {cost:.4f} at {report.most_audio_s_per_s:,.1f} s of audio a second."
    if most := max((stage.devices.devices for stage in report.stages if stage.devices), default=0):
        yield f"Memory and watts are of all GPUs of this machine ({most}), with what other processes use of them."
    late = [stage for stage in report.stages if max(stage.stall_s, _worst_lag_s(stage)) > _NOTICED_S]
    for stage in late:
        worst_ms = 1000 * max(stage.stall_s, _worst_lag_s(stage))
        yield f"At {stage.load.name} the client itself was late by up to {worst_ms:.0f} ms: so much may be its own."


def _listener(buffer_s: float) -> str:
    begins = f"{1000 * buffer_s:.0f} ms behind the first sample" if buffer_s else "with the first sample"
    return f"Holes are counted for one who begins to play {begins}; the buffer is what would have avoided them."


def _worst_lag_s(stage: StageReport) -> float:
    return 0.0 if stage.summary.lag is None else stage.summary.lag.most


def failures(stage: StageReport) -> Iterator[str]:
    if stage.failed:
        yield f"FAILED  {stage.load.name}: {stage.failed}"
    for error, times in stage.summary.errors.items():
        yield f"FAILED  {stage.load.name}: {times} × {error}"


def _median_ms(values: Spread | None) -> str:
    return _NOTHING if values is None else f"{1000 * values.p50:,.0f}"


def _p95_ms(values: Spread | None) -> str:
    return _NOTHING if values is None else f"{1000 * values.p95:,.0f}"


def _median(values: Spread | None) -> str:
    return _NOTHING if values is None else f"{values.p50:.3f}"


def _p95(values: Spread | None) -> str:
    return _NOTHING if values is None else f"{values.p95:.3f}"
