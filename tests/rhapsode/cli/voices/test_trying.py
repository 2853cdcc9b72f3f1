"""`rhapsode voices try`: live speech of a voice, and no job."""

from __future__ import annotations

import wave
from pathlib import Path

from rhapsode import Rhapsode
from rhapsode.stack.stack import Stack
from tests.rhapsode.conftest import RunCli


def test_a_voice_is_heard_without_a_job(run_cli: RunCli, stack: Stack, client: Rhapsode, tmp_path: Path) -> None:
    before = [job.id for job in client.jobs()]

    run = run_cli("voices", "try", "ada", "--no-play", "--save", "a.wav", env={"RHAPSODE_SERVER_URL": stack.url})

    assert run.returncode == 0, run.stderr
    assert "voice ada" in run.stdout
    with wave.open(str(tmp_path / "a.wav")) as heard:
        assert heard.getnframes() > heard.getframerate()
    assert [job.id for job in client.jobs()] == before


def test_several_voices_are_saved_in_a_folder(run_cli: RunCli, stack: Stack, tmp_path: Path) -> None:
    env = {"RHAPSODE_SERVER_URL": stack.url}

    run = run_cli("voices", "try", "ada", "tom", "--no-play", "--save", "tried", "--text", "Hello there.", env=env)

    assert run.returncode == 0, run.stderr
    assert sorted(path.name for path in (tmp_path / "tried").iterdir()) == ["ada.wav", "tom.wav"]


def test_one_file_is_of_one_voice(run_cli: RunCli) -> None:
    run = run_cli("voices", "try", "ada", "ben", "--save", "a.wav")

    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == "rhapsode: a.wav is one file; for 2 voices --save takes a folder\n"
