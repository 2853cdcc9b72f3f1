"""`rhapsode calibrate`: measure what is usual for a checkpoint's speech, so that the quality gate knows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from rhapsode import system_packages
from rhapsode.cli.failures import Misuse
from rhapsode.cli.local.requirements import require_packages
from rhapsode.cli.options import DeviceOption, SlotsOption

MODULE = "worker.speech.quality.calibration.calibrate"


def calibrate(
    checkpoint: Annotated[Path, typer.Argument(metavar="DIR", help="A Qwen3-TTS 12 Hz checkpoint.")],
    language: Annotated[str, typer.Option(help="Of the checkpoint, for instance german.")],
    text: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A sentence a line, a hundred or more; else those that come along."),
    ] = None,
    reference: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A recording to clone, for a checkpoint without voices; several times."),
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="How often every sentence is spoken, each time otherwise.")] = 2,
    device: DeviceOption = None,
    slots: SlotsOption = None,
) -> None:
    """Measure how long a checkpoint's speech takes, how it pauses, ends and sounds, and write it beside the weights.

    The quality gate then finds what is cut short or runs on in a single segment. Until a language was measured it can
    only compare the segments of a job with each other, and jobs say so. Workers read the file when they start.
    """
    if not checkpoint.is_dir():
        raise Misuse(f"{checkpoint} is no folder")
    require_packages("worker")
    command = [sys.executable, "-m", MODULE, "--checkpoint", str(checkpoint), "--language", language]
    command += ["--rounds", str(rounds)]
    for option, value in (("--text", text), ("--device", device), ("--slots", slots)):
        command += [] if value is None else [option, str(value)]
    for recording in reference or []:
        command += ["--reference", str(recording)]
    status = subprocess.run(command, check=False, env=os.environ | system_packages.environment(os.environ)).returncode
    if status:
        raise typer.Exit(status)
