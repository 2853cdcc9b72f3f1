"""The output of `rhapsode narrate`: one file, a folder of chapters, or both."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rhapsode.cli.failures import Misuse
from rhapsode.cli.narrate.files import choose_output

if TYPE_CHECKING:
    from rhapsode.client.request_options import AudioType


@dataclass(frozen=True, slots=True)
class ChapterTarget:
    """form: the format of the files."""

    form: AudioType
    folder: Path


@dataclass(frozen=True, slots=True)
class Targets:
    """file: the whole narration; None: only chapters. chapters: None: only the whole narration."""

    file: Path | None
    chapters: ChapterTarget | None

    @property
    def main(self) -> Path:
        """The file, or the folder of chapters."""
        if self.file is not None:
            return self.file
        if self.chapters is None:
            raise ValueError("there is no output")
        return self.chapters.folder

    def beside(self, suffix: str) -> Path:
        """The path of subtitles."""
        if self.file is not None:
            return self.file.with_suffix(suffix)
        return self.main / f"narration{suffix}"


def choose_targets(
    file: str, output: Path | None, chapters_as: AudioType | None, preset: str | None, *, is_forced: bool
) -> Targets:
    """Raises `Misuse` for an unwritable path and an existing file."""
    if preset is not None and chapters_as is None and (output is None or not output.suffix):
        form, is_in_chapters = _made_by(preset)
        named = output or Path("narration" if file == "-" else Path(file).stem)
        if is_in_chapters:
            return Targets(None, ChapterTarget(form, _free_folder(named, is_forced=is_forced)))
        output = output or named.with_name(f"{named.name}.{form}")
    if chapters_as is not None and output is not None and output.is_dir():
        return Targets(None, ChapterTarget(chapters_as, _free_folder(output, is_forced=is_forced)))
    whole = choose_output(file, output)
    if whole.exists() and not is_forced:
        raise Misuse(f"{whole} exists; --force replaces it, -o chooses another name")
    if chapters_as is None:
        return Targets(whole, None)
    folder = whole.with_suffix("")
    return Targets(whole, ChapterTarget(chapters_as, _free_folder(folder, is_forced=is_forced)))


def _made_by(preset: str) -> tuple[AudioType, bool]:
    """The format of a preset's files, and whether it makes one for each chapter."""
    from rhapsode.contract.jobs.output import Files, Output
    from rhapsode.contract.jobs.presets import PRESETS, OutputPreset

    made = Output.model_validate(PRESETS[OutputPreset(preset)].output).formats[0]
    return made.type.value, made.files is Files.CHAPTERS


def _free_folder(folder: Path, *, is_forced: bool) -> Path:
    if folder.exists() and not folder.is_dir():
        raise Misuse(f"{folder} is not a folder, and chapter files need one; -o chooses another name")
    if not is_forced and folder.is_dir() and any(folder.iterdir()):
        raise Misuse(f"{folder} has files already; --force replaces files of the same name")
    return folder
