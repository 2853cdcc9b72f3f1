"""The command line in the process of the test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rhapsode import Job, Rhapsode
from rhapsode.cli.failures import failures_in_one_line
from rhapsode.cli.main import command_line
from tests.waiting import until

LONG = " ".join(f"The wind and the sun were disputing, and this was said for the {n}th time." for n in range(400))
PATIENCE_S = 120.0


@pytest.fixture
def half_told(client: Rhapsode) -> Iterator[Job]:
    """A narration that is paused with some of it spoken, and much of it not."""
    job = client.submit_job(LONG, voice="ada", reuse=False)
    until(lambda: client.job(job.id).progress.segments.done >= 5)
    yield client.pause(job)
    if not client.job(job.id).state.is_terminal:
        client.cancel(job)


class CommandLine:
    """The command line in this process: starting one takes a second, and this file starts twenty."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.printed = ""
        """What the last command wrote on standard output."""

    def run(self, *words: str, status: int = 0) -> str:
        """What it says on the stream that belongs to the status."""
        with pytest.raises(SystemExit) as end, failures_in_one_line():
            command_line()(["jobs", *words])
        said = self._capsys.readouterr()
        self.printed = said.out
        assert (end.value.code or 0) == status, said.err
        return said.out if status == 0 else said.err


@pytest.fixture
def commands(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RHAPSODE_DATA_DIR", str(tmp_path / "share"))
    return CommandLine(capsys)
