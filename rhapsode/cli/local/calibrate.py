"""`rhapsode calibrate`: measure a checkpoint's speech for the quality gate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rhapsode.cli.local.requirements import given_options, run_module
from rhapsode.cli.options import DeviceOption, SlotsOption, choose_data_dir, choose_folder, read_settings

MODULE = "worker.speech.quality.calibration.calibrate"


def calibrate(
    checkpoint: Annotated[Path, typer.Argument(metavar="DIR|NAME", help="A Qwen3-TTS 12 Hz checkpoint.")],
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
    folder = choose_folder(checkpoint, choose_data_dir(None, read_settings()))
    options = given_options(checkpoint=folder, language=language, rounds=rounds, text=text, device=device, slots=slots)
    recordings = (word for recording in reference or () for word in given_options(reference=recording))
    run_module(MODULE, (*options, *recordings))
