"""`rhapsode distil-draft`: train the heads that let a row alone make its codes in fewer passes."""

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

MODULE = "worker.engine.distil.distil_draft"


def distil_draft(
    checkpoint: Annotated[Path, typer.Option(metavar="DIR", help="A Qwen3-TTS 12 Hz checkpoint with voices.")],
    text: Annotated[Path, typer.Option(metavar="FILE", help="A file with 1,000 or more lines, one sentence each.")],
    temperature: Annotated[
        float | None, typer.Option(min=0.01, max=10.0, help="Speak all sentences again at this temperature.")
    ] = None,
    rank: Annotated[int, typer.Option(min=1, max=4096, help="Inner width of a head. Larger heads are slower.")] = 128,
    epochs: Annotated[int, typer.Option(min=1, max=1000)] = 6,
    device: DeviceOption = None,
    slots: SlotsOption = None,
) -> None:
    """Train draft heads that speed up a CPU worker.

    A CPU worker that speaks one text at a time then needs fewer passes for identical codes. Training uses the
    checkpoint's own speech. The heads go beside the weights. Workers read them at their start, and ignore them if
    the weights change.
    """
    require_packages("worker")
    folder = choose_folder(checkpoint, choose_data_dir(None, read_settings()))
    command = [sys.executable, "-m", MODULE, "--checkpoint", str(folder), "--text", str(text)]
    command += ["--rank", str(rank), "--epochs", str(epochs)]
    for option, value in (("--temperature", temperature), ("--device", device), ("--slots", slots)):
        command += [] if value is None else [option, str(value)]
    status = subprocess.run(command, check=False, env=os.environ | system_packages.environment(os.environ)).returncode
    if status:
        raise typer.Exit(status)
