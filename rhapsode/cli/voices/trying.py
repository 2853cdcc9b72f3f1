"""`rhapsode voices try`: play voices as live speech, without a job. The server stores nothing."""

from __future__ import annotations

from typing import Annotated

import typer

from rhapsode.cli import job_options
from rhapsode.cli.clients import CommonOptions
from rhapsode.cli.failures import Misuse
from rhapsode.cli.live.say import PlayOption, SaveOption, say
from rhapsode.cli.options import ForceOption

SENTENCE = "The wind and the sun were disputing which of them was the stronger, when a traveller came along the road."


def try_voices(
    common: CommonOptions,
    voices: Annotated[list[str], typer.Argument(metavar="VOICE...", help="Names or ids of voices, in order.")],
    text: Annotated[str, typer.Option(help="The sentence.")] = SENTENCE,
    model: job_options.Model = None,
    language: job_options.Language = None,
    seed: job_options.Seed = None,
    play: PlayOption = None,
    save: SaveOption = None,
    force: ForceOption = False,
) -> None:
    """Play a sentence in each voice. For instance: rhapsode voices try slt rms"""
    if save is not None and len(voices) > 1:
        raise Misuse(f"--save is for one voice; these are {len(voices)}")
    if text == "-":
        raise Misuse("--text takes no standard input; `rhapsode say -` does")
    for voice in voices:
        say(
            common,
            text,
            voice=voice,
            model=model,
            language=language,
            seed=seed,
            play=play,
            save=save,
            force=force,
        )
