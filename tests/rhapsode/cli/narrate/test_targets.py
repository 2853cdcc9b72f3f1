"""Where files go: by the output's name, else by what the preset makes."""

from __future__ import annotations

from pathlib import Path

import pytest

from rhapsode.cli.failures import Misuse
from rhapsode.cli.narrate.targets import ChapterTarget, Targets, choose_targets


@pytest.mark.parametrize(
    ("output", "preset", "targets"),
    [
        (None, None, Targets(Path("book.wav"), None)),
        (None, "acx", Targets(None, ChapterTarget("mp3", Path("book")))),
        (Path("mine"), "acx", Targets(None, ChapterTarget("mp3", Path("mine")))),
        (Path("mine.flac"), "acx", Targets(Path("mine.flac"), None)),
        (None, "podcast", Targets(Path("book.mp3"), None)),
        (None, "audiobook", Targets(Path("book.m4b"), None)),
        (None, "broadcast", Targets(Path("book.wav"), None)),
    ],
)
def test_a_preset_says_what_is_made_where_no_name_does(
    output: Path | None, preset: str | None, targets: Targets, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert choose_targets("texts/book.txt", output, None, preset, is_forced=False) == targets


def test_a_folder_with_files_is_not_filled_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "01 One.mp3").touch()

    with pytest.raises(Misuse, match="--force"):
        choose_targets("book.txt", None, None, "acx", is_forced=False)
