"""`rhapsode check`: files and folders in, figures and an exit status out."""

from __future__ import annotations

import json
from pathlib import Path

from tests.rhapsode.conftest import RunCli
from tests.worker.speech.mastering.test_checking import chapter, tone, written


def test_a_book_of_chapters_is_told_in_the_order_of_its_numbers(tmp_path: Path, run_cli: RunCli) -> None:
    for number in (10, 2, 1):
        written(tmp_path / f"{number} Chapter.mp3", chapter(), "libmp3lame")
    (tmp_path / "notes.txt").write_text("no audio")

    told = run_cli("check", str(tmp_path), "--preset", "acx")

    assert (told.returncode, told.stderr) == (0, "")
    assert [line for line in told.stdout.splitlines() if line.endswith(".mp3")] == [
        "1 Chapter.mp3",
        "2 Chapter.mp3",
        "10 Chapter.mp3",
    ]
    assert told.stdout.splitlines()[-1] == "3 of 3 pass acx"


def test_a_file_that_does_not_pass_ends_with_1_and_says_each_figure(tmp_path: Path, run_cli: RunCli) -> None:
    file = written(tmp_path / "-loud.wav", tone(-10, 2.0))

    told = run_cli("check", str(file), "--preset", "podcast")
    read = run_cli("check", str(file), "--preset", "podcast", "--json")
    measured = run_cli("check", str(file))

    assert (told.returncode, read.returncode, measured.returncode) == (1, 1, 0)
    assert "x loudness        -10.0 LUFS  (-17 to -15 LUFS)" in told.stdout
    assert told.stdout.splitlines()[-1] == "1 of 1 do not pass podcast"
    figures = {each["name"]: each for each in json.loads(read.stdout)["files"][0]["figures"]}
    assert (figures["loudness"]["is_met"], figures["peak"]["is_met"]) == (False, None)
    assert "pass" not in measured.stdout


def test_what_cannot_be_checked_is_one_line(tmp_path: Path, run_cli: RunCli) -> None:
    (tmp_path / "text.wav").write_text("This is no sound.")

    unreadable = run_cli("check", str(tmp_path / "text.wav"), "--preset", "acx")
    absent = run_cli("check", str(tmp_path / "absent"))
    (tmp_path / "text.wav").unlink()
    empty = run_cli("check", str(tmp_path))

    assert [each.returncode for each in (unreadable, absent, empty)] == [2, 2, 2]
    assert "text.wav" in unreadable.stderr
    assert all(len(each.stderr.splitlines()) == 1 for each in (unreadable, absent, empty))
