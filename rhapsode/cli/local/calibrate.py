"""`rhapsode calibrate`: measure what is usual for a checkpoint's speech, so that the quality gate knows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from rhapsode import system_packages
from rhapsode.cli.local.requirements import require_packages
from rhapsode.cli.options import DeviceOption, SlotsOption, choose_data_dir, choose_folder, read_settings

MODULE = "worker.speech.quality.calibration.calibrate"


def calibrate(
    checkpoint: Annotated[Path, typer.Argument(metavar="DIR", help="A Qwen3-TTS 12 Hz checkpoint.")],
    language: Annotated[str, typer.Option(help="A language of the checkpoint, such as german.")],
    text: Annotated[
        Path | None, typer.Option(metavar="FILE", help="100 or more lines, one sentence each. Default: included.")
    ] = None,
    reference: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A recording to clone, for a checkpoint without voices. Repeat it for more."),
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="How many times to speak each sentence.")] = 2,
    device: DeviceOption = None,
    slots: SlotsOption = None,
) -> None:
    """Measure a checkpoint's speech for the quality gate.

    It writes typical durations, pauses, endings and levels beside the weights. The quality gate then finds single
    segments that are cut short or run on. Without these figures it only compares the segments of a job, and adds a
    warning. Workers read the file at their start.
    """
    require_packages("worker")
    folder = choose_folder(checkpoint, choose_data_dir(None, read_settings()))
    command = [sys.executable, "-m", MODULE, "--checkpoint", str(folder), "--language", language]
    command += ["--rounds", str(rounds)]
    for option, value in (("--text", text), ("--device", device), ("--slots", slots)):
        command += [] if value is None else [option, str(value)]
    for recording in reference or []:
        command += ["--reference", str(recording)]
    status = subprocess.run(command, check=False, env=os.environ | system_packages.environment(os.environ)).returncode
    if status:
        raise typer.Exit(status)
