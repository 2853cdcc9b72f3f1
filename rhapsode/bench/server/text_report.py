"""A measurement of a server as a person reads it: rows by load and by length of text, and what went wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rhapsode.bench.server.orders import TextLevel
from rhapsode.bench.server.quality import JudgedQuality, Sample
from rhapsode.bench.server.report import ServerReport, StageReport, rtf
from rhapsode.bench.statistics import LEAST_VALUES_FOR_P95, Spread, cost_of_audio_hour, mean, spread
from rhapsode.bench.text import NOTHING, cell, table

TOO_FEW = "few"
"""In a cell: of fewer requests there is no p95."""
_NOTICED_S = 0.01
"""Of a client's own delay: below that it is lost among what is measured."""

_LOAD_HEADS: str = (
    "load,requests,failed,first byte,audible,p95,whole,p95,RTF,p95,holes,buffer p95,audio s/s,requests/s,frames/s"
)
_DEVICE_HEADS = ["GPU MiB", "W", "J/audio s"]
_LENGTH_HEADS: str = "text,heard,characters,s of speech,audible,whole,RTF"
_QUALITY_HEADS: str = (
    "heard,texts,words,wrong,letters wrong,loops,cut short,likeness,distillMOS,words/s,loudness dB,clipped,"
    "longest pause s,the same again"
)


def text_report(report: ServerReport) -> str:
    return "\n".join(_lines(report)) + "\n"


def _lines(report: ServerReport) -> Iterator[str]:
    asked = report.asked
    who = ", ".join(part for part in (asked.model, asked.voice) if part)
    yield f"{asked.url} as {asked.target}{f' ({who})' if who else ''}"
    if report.stages:
        yield from ("", *table(load_rows(report)), "", *table(length_rows(report)), "", *verdicts(report))
    if report.quality is not None:
        yield from ("", *table(quality_rows(report.quality)), "", *quality_verdicts(report.quality))
    for stage in report.stages:
        yield from failures(stage)
    for left in report.left_out:
        yield f"left out  {left.stage}: {left.why}"
    if report.ended != "complete":
        yield f"The run was {report.ended} after {report.wall_s:.0f} s: this is what there was."


def load_rows(report: ServerReport) -> list[list[str]]:
    """Heads first."""
    rows = [_LOAD_HEADS.split(","), *map(_cells, report.by_load)]
    if any(stage.devices for stage in report.stages):
        rows[0] += _DEVICE_HEADS
        for row, stage in zip(rows[1:], report.by_load, strict=True):
            row += _device_cells(stage)
    return rows


def _device_cells(stage: StageReport) -> list[str]:
    used, audio_s_per_s = stage.devices, stage.summary.audio_s_per_s
    if used is None:
        return [NOTHING] * 3
    joules = used.watts / audio_s_per_s if used.watts is not None and audio_s_per_s else None
    return [cell(used.memory_mib, ",.0f"), cell(used.watts, ",.0f"), cell(joules, ".2f")]


def _cells(stage: StageReport) -> list[str]:
    said = stage.summary
    return [
        stage.load.name,
        f"{said.requests}",
        f"{said.requests - said.whole}",
        _ms(_p50(said.first_byte)),
        _ms(_p50(said.audible)),
        _tail_ms(said.audible),
        _ms(_p50(said.total)),
        _tail_ms(said.total),
        cell(_p50(said.rtf), ".3f"),
        _tail(said.rtf, 1, ".3f"),
        f"{said.with_gaps}",
        _tail_ms(said.buffer),
        f"{said.audio_s_per_s:,.1f}",
        f"{said.requests_per_s:.2f}",
        cell(said.frames_per_s, ",.0f"),
    ]


def length_rows(report: ServerReport) -> list[list[str]]:
    """Column heads first; over whole answers."""
    rows = [_LENGTH_HEADS.split(",")]
    heard = [each for stage in report.stages for each in stage.requests if each.is_counted and each.error is None]
    for level in TextLevel:
        if of_level := [each for each in heard if each.level is level]:
            rows.append(
                [
                    level,
                    f"{len(of_level)}",
                    cell(mean(float(each.chars) for each in of_level), ".0f"),
                    cell(mean(each.audio_s for each in of_level), ".1f"),
                    _ms(_p50(spread(each.audible_s for each in of_level))),
                    _ms(_p50(spread(each.total_s for each in of_level))),
                    cell(_p50(spread(rtf(each) for each in of_level)), ".3f"),
                ]
            )
    return rows


def verdicts(report: ServerReport) -> Iterator[str]:
    """What the figures mean, and how far they can be trusted."""
    yield "Times in ms, medians and p95, start at the first byte of the request on an open connection."
    buffer_s = report.asked.listener_buffer_s
    begins = f"{1000 * buffer_s:.0f} ms after the first sample" if buffer_s else "at the first sample"
    yield f"Holes are underruns of a client that starts to play {begins}. The buffer would have avoided them."
    if report.carried:
        streams = "1 stream" if report.carried == 1 else f"{report.carried} streams"
        yield f"{streams} ran in real time without a hole."
    if report.price_per_hour is not None and report.most_audio_s_per_s:
        cost = cost_of_audio_hour(report.price_per_hour, report.most_audio_s_per_s)
        yield f"An hour of audio costs {cost:.4f} at {report.most_audio_s_per_s:,.1f} s of audio a second."
    if most := max((stage.devices.devices for stage in report.stages if stage.devices), default=0):
        yield f"Memory and watts are of all GPUs of this machine ({most}), other processes included."
    if any(TOO_FEW in row for row in load_rows(report)):
        yield f"Fewer than {LEAST_VALUES_FOR_P95} requests are too few to tell a p95."
    late = {stage.load.name: late_s for stage in report.stages if (late_s := _late_s(stage)) > _NOTICED_S}
    if late:
        most_ms = 1000 * max(late.values())
        yield f"At {', '.join(late)} the client was up to {most_ms:.0f} ms late; times include this delay."


def _late_s(stage: StageReport) -> float:
    """The client's longest delay."""
    return max(stage.stall_s, 0.0 if stage.summary.lag is None else stage.summary.lag.most)


def failures(stage: StageReport) -> Iterator[str]:
    if stage.failed:
        yield f"FAILED  {stage.load.name}: {stage.failed}"
    for error, times in stage.summary.errors.items():
        yield f"FAILED  {stage.load.name}: {times} × {error}"


def quality_rows(quality: JudgedQuality) -> list[list[str]]:
    """Heads first; a row for each length of text, and one for all."""
    levels = [[each for each in quality.samples if each.level is level] for level in TextLevel]
    rows = [_quality_row(samples[0].level, samples) for samples in levels if samples]
    return [_QUALITY_HEADS.split(","), *rows, *([_quality_row("all", quality.samples)] if rows else [])]


def quality_verdicts(quality: JudgedQuality) -> Iterator[str]:
    """How far the figures can be trusted, and what failed."""
    yield "The recogniser makes errors, too: compare servers on the same texts, not with zero."
    yield from (f"Not judged: {each}" for each in quality.not_judged)
    failed = [each.error for each in quality.samples if each.error is not None]
    yield from (f"FAILED  quality: {failed.count(error)} × {error}" for error in dict.fromkeys(failed))


def _quality_row(name: str, samples: Sequence[Sample]) -> list[str]:
    judged = [each.judged for each in samples if each.judged is not None]
    words, errors = sum(each.words or 0 for each in judged), sum(each.errors or 0 for each in judged)
    seconds = sum(each.speech_s for each in judged if each.words is not None)
    letters = sum(each.characters or 0 for each in judged)
    letters_wrong = sum(each.character_errors or 0 for each in judged)
    compared = [each.is_same_again for each in samples if each.is_same_again is not None]
    levels = [each.loudness_db for each in judged]
    return [
        name,
        f"{len(samples)}",
        f"{words}",
        f"{100 * errors / words:.1f} %" if words else NOTHING,
        f"{100 * letters_wrong / letters:.1f} %" if letters else NOTHING,
        _count(each.is_looped for each in judged),
        _count(each.is_cut for each in judged),
        cell(mean(each.likeness for each in samples), ".2f"),
        cell(mean(each.mos for each in judged), ".2f"),
        cell(words / seconds if words and seconds else None, ".2f"),
        f"{min(levels):.1f} to {max(levels):.1f}" if levels else NOTHING,
        f"{sum(each.clipped_share > 0 for each in judged)}",
        f"{max((each.longest_pause_s for each in judged), default=0.0):.2f}",
        f"{sum(compared)} of {len(compared)}",
    ]


def _count(found: Iterable[bool | None]) -> str:
    known = [each for each in found if each is not None]
    return f"{sum(known)}" if known else NOTHING


def _p50(values: Spread | None) -> float | None:
    return None if values is None else values.p50


def _tail_ms(values: Spread | None) -> str:
    return _tail(values, 1000, ",.0f")


def _tail(values: Spread | None, scale: float, form: str) -> str:
    """The 95th percentile."""
    if values is None:
        return NOTHING
    return cell(scale * values.p95, form) if values.has_p95 else TOO_FEW


def _ms(seconds: float | None) -> str:
    return cell(None if seconds is None else 1000 * seconds, ",.0f")
