"""`rhapsode distil-draft`: train heads that speed up a CPU worker."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rhapsode.cli.local.requirements import given_options, run_module
from rhapsode.cli.options import DeviceOption, SlotsOption, choose_data_dir, choose_folder, read_settings

MODULE = "worker.engine.distil.distil_draft"


def distil_draft(
    checkpoint: Annotated[Path, typer.Option(metavar="DIR", help="A Qwen3-TTS 12 Hz checkpoint with voices.")],
    text: Annotated[Path, typer.Option(metavar="FILE", help="A file with 1,000 or more lines, one sentence each.")],
    temperature: Annotated[
        float | None, typer.Option(min=0.01, max=10.0, help="Speak all sentences again at this temperature.")
    ] = None,
    device: DeviceOption = None,
    slots: SlotsOption = None,
) -> None:
    """Train draft heads that speed up a CPU worker.

    A CPU worker that speaks one text at a time then needs fewer passes for identical codes. Training uses the
    checkpoint's own speech. The heads go beside the weights. Workers read them at their start, and ignore them if
    the weights change.
    """
    folder = choose_folder(checkpoint, choose_data_dir(None, read_settings()))
    run_module(
        MODULE,
        given_options(checkpoint=folder, text=text, temperature=temperature, device=device, slots=slots),
    )
