"""`rhapsode bench` without --url: what this machine's GPU speaks a second, how soon, and for how much."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rhapsode.cli.bench.options import SharedOptions, read_streams
from rhapsode.cli.failures import FAILED, INTERRUPTED, Misuse, terminated_like_interrupted
from rhapsode.cli.formatting import clock
from rhapsode.cli.local.requirements import require_packages
from rhapsode.cli.options import check_choices, choose_checkpoint, choose_data_dir, read_settings
from rhapsode.cli.visible import echo

if TYPE_CHECKING:
    from rhapsode.bench.engine.report import BenchReport, Message
    from rhapsode.bench.engine.run import BenchModel, EngineRun

SIZES = ("0.6b", "1.7b")
PrecisionName = Literal["bfloat16", "float8"]
DEFAULT_MINUTES = 5.0

_MEMORY_FOLDER = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it
# Weights of 1.7B and their codec, and as much again for what else wants memory there.
_ROOM_WANTED = 10 * 1024**3


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Engine of this machine, without --url."""

    checkpoint: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Your checkpoint. Default: random weights of a published size.")
    ] = None
    size: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SIZE", help=f"Size of the weights: {' or '.join(SIZES)}. Repeat it for both. Default: 1.7b."
        ),
    ] = None
    device: Annotated[
        str | None, typer.Option(help="cpu, or one GPU such as cuda:1. Default: the first GPU, or the CPU.")
    ] = None
    precision: Annotated[
        PrecisionName | None,
        typer.Option(
            help="Precision of the language model's cache and MLPs. Default: bfloat16. float8 needs a GPU that "
            "supports it."
        ),
    ] = None


def bench_engine(options: EngineOptions, shared: SharedOptions) -> None:
    require_packages("worker")
    from rhapsode.bench.engine.report import BenchReport
    from rhapsode.bench.engine.run import plan_runs
    from rhapsode.bench.report import read_environment

    check_choices("--size", options.size or (), SIZES)
    place = _choose_device(options.device)
    if options.size and (options.checkpoint or place == "cpu"):
        raise Misuse("--size is for random weights on a GPU, without --checkpoint")
    report = BenchReport(environment=read_environment(["rhapsode", *sys.argv[1:]]), price_per_gpu_hour=shared.price)
    with _scratch(place) as folder:
        models = _models(
            choose_checkpoint(options.checkpoint, choose_data_dir(None, read_settings())), options.size, place, folder
        )
        runs = plan_runs(models, place, options.precision or "bfloat16", _choose_streams(shared.streams, place))
        status = _measure(report, runs, 60 * (DEFAULT_MINUTES if shared.minutes is None else shared.minutes))
    _show(report, shared.json)
    if status or not any(model.closed_loop or model.first_audio for model in report.models):
        raise typer.Exit(status or FAILED)


def _measure(report: BenchReport, runs: list[EngineRun], seconds: float) -> int:
    """0, or the exit status after Ctrl-C."""
    from rhapsode.bench.engine.run import run_all

    began_s = time.monotonic()

    def tell(model: str, message: Message) -> None:
        if line := _progress(message):
            echo(f"[{clock(time.monotonic() - began_s)}] {model}: {line}", err=True)

    try:
        with terminated_like_interrupted():
            run_all(report, runs, seconds, tell)
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def _progress(message: Message) -> str:
    match message.kind:
        case "begins":
            return f"{message.stage} ..."
        case "started":
            return f"ready after {message.start_s:.0f} s, {message.slots} slots"
        case "closed_loop":
            return f"{message.audio_s_per_s:,.1f} seconds of audio a second"
        case "first_audio":
            return f"{min(message.waits_ms):.1f} to {max(message.waits_ms):.1f} ms"
        case "failed":
            return f"{message.stage} failed: {message.error}"
        case "left_out":
            return f"{message.stage} left out: {message.why}"
        case "device":
            return ""


def _show(report: BenchReport, json: Path | None) -> None:
    from rhapsode.bench.engine.report import text_report

    echo(text_report(report), nl=False)
    if json is not None:
        report.write(json)


def _choose_device(option: str | None) -> str:
    """One: several GPUs speak beside each other, each as this one."""
    from rhapsode.stack.planning.gpus import find_gpus

    if option is not None:
        if option != "cpu" and not option.startswith("cuda"):
            raise Misuse(f"--device: {option!r} is neither cpu nor a GPU such as cuda:0")
        if "," in option:
            raise Misuse("--device: name one device")
    if option == "cpu":
        return option
    found = find_gpus(is_asked=option is not None)
    known = [gpu.device for gpu in found.gpus]
    if option is None:
        return known[0] if known else "cpu"
    named = "cuda:0" if option == "cuda" else option
    if named not in known:
        raise Misuse(f"--device: {named} is not on this machine; it has {', '.join(known) or found.note or 'no GPU'}")
    return named


def _choose_streams(option: str | None, device: str) -> tuple[int, ...]:
    from rhapsode.bench.engine.run import CPU_STREAMS, GPU_STREAMS

    if option is None:
        return GPU_STREAMS if device.startswith("cuda") else CPU_STREAMS
    return read_streams(option, most=1024)


def _models(checkpoint: Path | None, sizes: list[str] | None, device: str, scratch: Path) -> list[BenchModel]:
    from rhapsode.bench.engine.run import BenchModel

    if checkpoint is not None:
        return [BenchModel(checkpoint.name, "given", checkpoint)]
    if device == "cpu":
        from rhapsode.bench.engine.report import SMALL_VOICE

        return [BenchModel("small voice", "small voice", SMALL_VOICE)]
    return [BenchModel(name, "random", scratch / name, name) for name in dict.fromkeys(sizes or ["1.7b"])]


@contextmanager
def _scratch(device: str) -> Generator[Path]:
    """For random weights: in memory where there is room, which a disk may not be fast enough for."""
    is_roomy = (
        device != "cpu"
        and os.access(_MEMORY_FOLDER, os.W_OK)
        and shutil.disk_usage(_MEMORY_FOLDER).free >= _ROOM_WANTED
    )
    with tempfile.TemporaryDirectory(prefix="rhapsode-bench-", dir=_MEMORY_FOLDER if is_roomy else None) as folder:
        yield Path(folder)
