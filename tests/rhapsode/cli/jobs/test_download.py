"""`rhapsode jobs download` on a whole stack: whole files or none."""

from __future__ import annotations

import hashlib
import json
import wave
from pathlib import Path

import pytest

from rhapsode import Job, Rhapsode
from rhapsode.cli.file_names import titled
from rhapsode.cli.jobs.segment_files import save_take
from rhapsode.errors import DownloadCorrupt
from rhapsode.stack.stack import Stack
from tests.rhapsode.answers import answer
from tests.rhapsode.cli.jobs.conftest import CommandLine
from tests.rhapsode.conftest import ScriptedServer

WORDS = "The wind was cold. The sun was warm. They met at noon"
TEXT = "The wind was cold.\n\nThe sun was warm.\n\nThey met at noon."


@pytest.fixture(scope="module")
def told(stack: Stack) -> Job:
    with Rhapsode(stack.url) as client:
        job = client.submit_job(TEXT, voice="ada", seed=5, output={"formats": [{"type": "wav"}], "subtitles": ["srt"]})
        return client.wait(job).raise_unless_succeeded()


@pytest.fixture
def here(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RHAPSODE_SERVER_URL", stack.url)


@pytest.mark.usefixtures("here")
def test_every_file_comes_whole_and_only_what_is_missing_comes_again(
    commands: CommandLine, told: Job, tmp_path: Path
) -> None:
    folder = tmp_path / "files"
    folder.mkdir()

    first = commands.run("download", told.id, "-o", "files")
    (folder / f"{WORDS}.srt").unlink()
    second = commands.run("download", told.id, "-o", "files")

    names = [titled(artifact.name, WORDS) for artifact in told.artifacts]
    assert {f"{WORDS}.wav", f"{WORDS}.srt", f"{WORDS} - manifest.json"} <= set(names)
    assert sorted(path.name for path in folder.iterdir()) == sorted(names)
    for name, artifact in zip(names, told.artifacts, strict=True):
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == artifact.sha256
    assert first.splitlines() == [
        f"files/{name}: {each.bytes:,} bytes" for name, each in zip(names, told.artifacts, strict=True)
    ]
    assert [line.endswith(" bytes") for line in second.splitlines()] == [name == f"{WORDS}.srt" for name in names]


@pytest.mark.usefixtures("here")
def test_jobs_of_one_title_lie_in_one_folder(commands: CommandLine, client: Rhapsode, tmp_path: Path) -> None:
    jobs = [client.wait(client.submit_job(text, metadata={"title": "Wind/Sun"})) for text in ("One.", "Two two two.")]

    for _ in range(2):
        for job in jobs:
            commands.run("download", job.id)

    audio = {path.name: path.read_bytes() for path in tmp_path.glob("*.wav")}
    assert {name: hashlib.sha256(content).hexdigest() for name, content in audio.items()} == {
        "Wind Sun.wav": jobs[0].artifact("narration.wav").sha256,
        f"Wind Sun {jobs[1].id}.wav": jobs[1].artifact("narration.wav").sha256,
    }


@pytest.mark.usefixtures("here")
def test_another_file_is_replaced_only_when_asked(commands: CommandLine, told: Job, tmp_path: Path) -> None:
    (tmp_path / "narration.wav").write_bytes(b"precious")

    refused = commands.run("download", told.id, "narration.wav", status=2)
    left = [path.name for path in tmp_path.iterdir()]
    commands.run("download", told.id, "narration.wav", "--force")
    commands.run("download", told.id, "narration.srt", "-o", "words.srt")

    assert "narration.wav exists and is another file; --force" in refused
    assert left == ["narration.wav"]
    with wave.open("narration.wav") as file:
        assert file.getnframes() > 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["narration.wav", "words.srt"]


@pytest.mark.usefixtures("here")
def test_what_there_is_not_is_one_line(commands: CommandLine, told: Job, half_told: Job, tmp_path: Path) -> None:
    unknown = commands.run("download", told.id, "cover.png", status=1)
    nowhere = commands.run("download", told.id, "-o", "/dev/null", status=2)
    device = commands.run("download", told.id, "narration.wav", "-o", "/dev/full", "--force", status=2)
    early = commands.run("download", half_told.id, status=1)

    assert "no artifact 'cover.png'; it has: narration.wav" in unknown
    assert "/dev/null is not a folder" in nowhere
    assert "is a folder or a device" in device
    assert "has no files yet" in early
    assert [said.count("\n") for said in (unknown, nowhere, device, early)] == [1] * 4
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("here")
def test_a_folder_for_several_files_is_made(commands: CommandLine, told: Job) -> None:
    commands.run("download", told.id, "-o", "new/files")
    commands.run("download", told.id, "--segments", "-o", "new/segments")

    assert len(list(Path("new/files").iterdir())) == len(told.artifacts)
    assert len(list(Path("new/segments").iterdir())) == 3


@pytest.mark.usefixtures("here")
def test_segments_come_one_by_one_and_go_on_where_they_stopped(
    commands: CommandLine, told: Job, tmp_path: Path
) -> None:
    first = commands.run("download", told.id, "--segments")
    (tmp_path / told.id / "seg_000001-take-1.wav").unlink()
    second = commands.run("download", told.id, "--segments")

    assert first == f"{told.id}: 3 segments\n"
    assert second == f"{told.id}: 1 segment, 2 were here already\n"
    for index in range(3):
        with wave.open(f"{told.id}/seg_{index:06}-take-1.wav") as file:
            assert file.getnframes() > 0


@pytest.mark.parametrize("answered", ["../../evil", "/tmp/evil", ".evil", "a\\b", "", "a\x1b[2J"])
def test_segments_are_not_called_as_a_server_likes(
    commands: CommandLine, script: ScriptedServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answered: str
) -> None:
    monkeypatch.setenv("RHAPSODE_SERVER_URL", script.url)
    page = answer("list_segments")
    page["data"][0]["id"] = answered
    script.answer(200, {"status": "ok"})
    script.answer(200, page)

    said = commands.run("download", "job_01", "--segments", status=1)

    assert "did not answer with a SegmentList" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("here")
def test_a_folder_of_segments_is_not_called_like_a_path(commands: CommandLine, told: Job, tmp_path: Path) -> None:
    said = commands.run("download", f"../{told.id}", "--segments", status=2)

    assert said == f"rhapsode: '../{told.id}' is not an id\n"
    assert list(tmp_path.iterdir()) == []


def test_half_a_take_is_not_saved(tmp_path: Path) -> None:
    with wave.open(str(tmp_path / "whole.wav"), "wb") as file:
        file.setparams((1, 2, 24_000, 0, "NONE", ""))
        file.writeframes(bytes(1000))
    whole = (tmp_path / "whole.wav").read_bytes()

    save_take(tmp_path / "again.wav", whole)
    with pytest.raises(DownloadCorrupt, match=r"half\.wav"):
        save_take(tmp_path / "half.wav", whole[:500])
    with pytest.raises(DownloadCorrupt):
        save_take(tmp_path / "none.wav", b"<html>")

    assert (tmp_path / "again.wav").read_bytes() == whole
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.wav", "whole.wav"]


@pytest.mark.usefixtures("here")
def test_programs_are_told_each_file_with_its_digest(commands: CommandLine, told: Job) -> None:
    first = [json.loads(line) for line in commands.run("download", told.id, "manifest.json", "--json").splitlines()]
    again = [json.loads(line) for line in commands.run("download", told.id, "manifest.json", "--json").splitlines()]

    artifact = told.artifact("manifest.json")
    facts = {"path": "manifest.json", "bytes": artifact.bytes, "sha256": artifact.sha256}
    assert first == [{**facts, "fetched": True}]
    assert again == [{**facts, "fetched": False}]
