"""Options of several commands, and their settings."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rhapsode.cli.failures import Misuse

if TYPE_CHECKING:
    from datetime import datetime

    from rhapsode.settings import ClientSettings
    from rhapsode.stack.layout import DataDir

ServerOption = Annotated[
    str | None,
    typer.Option("--server", metavar="URL", help="Server. Default: RHAPSODE_SERVER_URL, or the one on this machine."),
]
DataDirOption = Annotated[
    Path | None,
    typer.Option("--data-dir", metavar="DIR", help="Data folder. Default: RHAPSODE_DATA_DIR, or your user folder."),
]
SlotsOption = Annotated[int | None, typer.Option(min=1, max=1024, help="Number of concurrent segments.")]
CheckpointOption = Annotated[
    Path | None,
    typer.Option(metavar="DIR|NAME", help="Qwen3-TTS 12 Hz checkpoint, pulled model, small_voice or kokoro (default)."),
]
DeviceOption = Annotated[str | None, typer.Option(help="cpu, or GPUs such as cuda:0,cuda:1. Each GPU gets a worker.")]
LimitOption = Annotated[int, typer.Option(min=1, help="Maximum number of rows, newest first.")]
NoteOption = Annotated[str, typer.Option("--description", help="A note for you.")]
IdempotencyOption = Annotated[
    str | None,
    typer.Option("--idempotency-key", metavar="TEXT", help="A repeat with this key returns the first answer."),
]
KeepOption = Annotated[
    float | None, typer.Option("--keep-days", min=0.001, max=90, help="Days to keep the result after the end.")
]
ForceOption = Annotated[bool, typer.Option("--force", "-f", help="Replace an existing file.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def read_settings() -> ClientSettings:
    """Raises `Misuse`, which names the invalid variable."""
    from pydantic import ValidationError

    from rhapsode.settings import ClientSettings
    from storage.runtime.config.complaints import complaints

    try:
        return ClientSettings.of_environment(os.environ)
    except ValidationError as error:
        raise Misuse(complaints(error)) from error


def check_choices(option: str, given: Iterable[str], known: Collection[str]) -> None:
    """Raises `Misuse` for an unknown value. It names the known ones."""
    for name in given:
        if name not in known:
            raise Misuse(f"{option}: {name!r} is not one of {', '.join(known)}")


def read_time(option: str, text: str) -> datetime:
    """By default in this machine's time zone. Raises `Misuse`."""
    from datetime import UTC, datetime

    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        example = "2026-12-01T08:00, optionally with +01:00 or Z"
        raise Misuse(f"{option}: {text!r} is not a time; write {example}") from error


def choose_data_dir(option: Path | None, settings: ClientSettings) -> DataDir:
    from rhapsode.stack.layout import DataDir, default_data_dir

    chosen = option or settings.data_dir
    return DataDir(chosen.expanduser().resolve() if chosen else default_data_dir(os.environ))


def choose_devices(option: str | None) -> tuple[str, ...]:
    """Raises `PlanRefused` for unknown devices."""
    from rhapsode.stack.planning.devices import parse_devices
    from rhapsode.stack.planning.wishes import DEVICE_OPTION

    return () if option is None else parse_devices(DEVICE_OPTION, option)


def choose_checkpoint(option: Path | None, data_dir: DataDir) -> Path | None:
    """Like `choose_folder`. Raises `Misuse` also for a folder without a checkpoint."""
    if option is None:
        return None
    folder = choose_folder(option, data_dir)
    if not (folder / "config.json").is_file():
        raise Misuse(f"{option} lacks config.json; it is not a checkpoint in the published layout")
    return folder


def choose_folder(given: Path, data_dir: DataDir) -> Path:
    """The absolute path of a folder, or of a model by name. Raises `Misuse`, `ModelNotPulled`."""
    from rhapsode.stack.models import checkpoint_named
    from worker.engine.model.pulled import PACKAGED

    folder = PACKAGED.get(str(given)) or Path(checkpoint_named(str(given), data_dir))
    if not folder.is_dir():
        raise Misuse(f"{given} is not a folder")
    return folder.resolve()


def number_or_none(option: str, text: str, kind: Callable[[str], float]) -> float | None:
    """None for "none". Raises `Misuse`."""
    if text == "none":
        return None
    try:
        number = kind(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise Misuse(f'{option}: {text!r} is neither a number nor "none"')
    return number
