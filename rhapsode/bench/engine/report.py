"""What a measured engine says, a line of JSON each, the report made of it, and how a person reads that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field

from rhapsode.bench.report import Environment, ReportFile
from rhapsode.bench.statistics import cost_of_audio_hour, percentile
from rhapsode.bench.text import table

FRAME_S = 0.08
"""Of speech in a codec frame."""

SMALL_VOICE = Path(str(files("worker"))) / "small_voice"


@dataclass(frozen=True, slots=True)
class EngineTask:
    """One engine, what it is to do, and how long all of that may take.

    checkpoint: a folder in the published layout. draw_size: of the random weights to write there if it is absent.
    slots: as many as are wanted, of which memory may allow fewer. streams: requests in flight, one closed loop each.
    first_running: how many other streams run beside a first audio. frames: of a request, least and most. seconds: what
    is not begun by then is left out.
    """

    checkpoint: str
    draw_size: str | None
    device: str
    profile: str
    precision: str
    slots: int
    streams: tuple[int, ...]
    first_running: tuple[int, ...]
    frames: tuple[int, int]
    seconds: float


@dataclass(frozen=True, slots=True)
class Begins:
    """The stage that the messages up to the next of these are about."""

    stage: str
    kind: Literal["begins"] = "begins"


@dataclass(frozen=True, slots=True)
class Device:
    """capability, memory_bytes: of a GPU. torch, triton: versions; None where it is not installed."""

    device: str
    name: str
    capability: str | None
    memory_bytes: int | None
    torch: str
    triton: str | None
    kind: Literal["device"] = "device"


@dataclass(frozen=True, slots=True)
class Card:
    """Slots on a GPU of so much memory, of so many positions each. slots: 0 where the model does not fit."""

    gib: int
    slots: int
    positions: int


@dataclass(frozen=True, slots=True)
class Started:
    """checkpoint_s: to write random weights. start_s: to load, compile and capture. cards: none without a GPU."""

    checkpoint_s: float
    start_s: float
    slots: int
    memory_bytes: int
    cards: tuple[Card, ...]
    kind: Literal["started"] = "started"


@dataclass(frozen=True, slots=True)
class ClosedLoop:
    """`streams` requests were always in flight; audio and requests are those delivered within the window.

    memory_bytes: taken on the device at its end, by all processes; on a CPU the most this one has had.
    """

    streams: int
    window_s: float
    requests: int
    audio_s_per_s: float
    real_time_per_stream: float
    memory_bytes: int
    kind: Literal["closed_loop"] = "closed_loop"


@dataclass(frozen=True, slots=True)
class FirstAudio:
    """Time from submit to the first samples of an interactive request, beside `running` live streams."""

    running: int
    waits_ms: tuple[float, ...]
    kind: Literal["first_audio"] = "first_audio"


@dataclass(frozen=True, slots=True)
class StageFailed:
    """is_final: what was asked for can never work here, so that there is no use in another try."""

    stage: str
    error: str
    is_final: bool = False
    kind: Literal["failed"] = "failed"


@dataclass(frozen=True, slots=True)
class StageLeftOut:
    stage: str
    why: str
    kind: Literal["left_out"] = "left_out"


Message = Begins | Device | Started | ClosedLoop | FirstAudio | StageFailed | StageLeftOut

START_STAGE = "start"


def streams_stage(streams: int) -> str:
    return f"{streams} streams" if streams > 1 else "1 stream"


def first_audio_stage(running: int) -> str:
    return f"first audio beside {running}" if running else "first audio alone"


SCHEMA = "rhapsode.bench/1"


class ModelReport(BaseModel):
    """One model in one precision.

    weights: random ones of a published size, or whose. started: of the engine for throughput; None if none started.
    """

    model: str
    weights: Literal["random", "small voice", "given"]
    precision: str
    request_s: tuple[float, float]
    started: Started | None = None
    closed_loop: list[ClosedLoop] = []
    first_audio: list[FirstAudio] = []
    failed: list[StageFailed] = []
    left_out: list[StageLeftOut] = []


class BenchReport(ReportFile):
    """A run of the command. ended: whether all that was asked for was tried."""

    schema_: Literal["rhapsode.bench/1"] = Field(default=SCHEMA, alias="schema")
    environment: Environment
    device: Device | None = None
    price_per_gpu_hour: float | None = None
    models: list[ModelReport] = Field(default_factory=list[ModelReport])
    ended: Literal["complete", "incomplete", "interrupted"] = "incomplete"
    wall_s: float = 0.0


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
        beside = f"beside {row.running} streams" if row.running else "alone"
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
