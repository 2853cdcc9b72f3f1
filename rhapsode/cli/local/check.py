"""`rhapsode check`: compare audio files with a publisher's requirements."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

import typer

from rhapsode.cli.failures import Misuse
from rhapsode.cli.local.requirements import given_options, run_module
from rhapsode.cli.options import JsonOption

MODULE = "worker.speech.mastering"

SUFFIXES = frozenset({".aac", ".flac", ".m4a", ".m4b", ".mp3", ".oga", ".ogg", ".opus", ".wav"})


PresetName = Literal["acx", "podcast", "audiobook", "broadcast"]
"""Spelled here as well as in `rhapsode.contract.jobs.presets`, so that `--help` loads no contract."""


def check(
    paths: Annotated[list[Path], typer.Argument(metavar="FILE|DIR", help="Audio files, or folders of audio files.")],
    preset: Annotated[
        PresetName | None, typer.Option(help="The publisher's requirements. Default: print figures only.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check audio files against a publisher's requirements.

    It measures level, loudness, peaks, noise floor, silence at both ends, and format. With --preset each figure
    stands beside its limit: + passes, x fails. The exit status is 1 if a figure fails, and 2 if a file is
    unreadable. It changes nothing, and needs no other program.

    acx: Audible, one file for each chapter. podcast: Apple, -16 LUFS. audiobook: AES TD1008, -18 LUFS. broadcast:
    EBU R 128, -23 LUFS.
    """
    files = [str(file) for path in paths for file in _audio_files(path)]
    run_module(MODULE, (*given_options(preset=preset), *(("--json",) if as_json else ()), "--", *files))


def _audio_files(path: Path) -> list[Path]:
    """Files of a folder by number: chapter 2 before chapter 10."""
    if not path.exists():
        raise Misuse(f"{path}: no such file")
    if not path.is_dir():
        return [path]
    found = [each for each in path.iterdir() if each.suffix.lower() in SUFFIXES and each.is_file()]
    if not found:
        raise Misuse(f"{path} holds no audio files ({', '.join(sorted(SUFFIXES))})")
    return sorted(found, key=_natural)


def _natural(path: Path) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", path.name.casefold())]
