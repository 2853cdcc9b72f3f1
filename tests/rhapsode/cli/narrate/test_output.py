"""Other files than WAV, and hearing a job while it is made, from the client and the command line."""

from __future__ import annotations

import asyncio
import io
import json
import re
import wave
from pathlib import Path
from typing import Any

import httpx
import pytest
from mutagen.mp3 import MP3
from mutagen.mp4 import MP4
from mutagen.oggopus import OggOpus, OggOpusInfo

from rhapsode import AsyncRhapsode, NotFound, Rhapsode
from rhapsode.stack.stack import Stack
from tests.storage.audio.test_cover import JPEG

TEXT = "The wind and the sun were disputing which was the stronger. Suddenly they saw a traveller coming down the road."


@pytest.fixture
def here(stack: Stack) -> dict[str, str]:
    return {"RHAPSODE_SERVER_URL": stack.url}


def test_the_outputs_name_says_the_format(client: Rhapsode, run_cli: Any, here: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "fable.txt").write_text(TEXT)
    wishes = ("--loudness", "-20", "--sample-rate", "44100", "--bitrate", "64")
    subtitles = ("--subtitles", "vtt", "--subtitles", "srt")
    times = ("--timestamps", "word", "--karaoke")
    kept = ("--destination", "fables/wind")

    outcome = run_cli("narrate", "fable.txt", "-o", "fable.mp3", *wishes, *subtitles, *times, *kept, env=here)

    assert outcome.returncode == 0, outcome.stderr
    info = vars(MP3(tmp_path / "fable.mp3").info)
    assert (info["sample_rate"], info["bitrate"]) == (44_100, pytest.approx(64_000, abs=10))
    assert re.search(r"The <00:00:0.*>wind <.*>and <.*>the <.*>sun", (tmp_path / "fable.vtt").read_text())
    assert "The wind and the sun" in (tmp_path / "fable.srt").read_text()
    (segment, *_) = json.loads((tmp_path / "fable.timestamps.json").read_text())["segments"]
    words = segment["sentences"][0]["words"]
    assert [TEXT[word["start"] : word["end"]] for word in words][:5] == ["The", "wind", "and", "the", "sun"]
    (job,) = (each for each in client.jobs() if any(artifact.key for artifact in each.artifacts))
    keys = [artifact.key for artifact in job.artifacts if artifact.key]
    assert len(keys) == len(job.artifacts) > 0
    assert all(key.startswith(f"delivered/local/fables/wind/{job.id}/") for key in keys)
    assert keys[0] in run_cli("jobs", "show", job.id, env=here).stdout


BOOK = """# The wind and the sun

The wind and the sun were disputing which was the stronger.

# The traveller

NARRATOR: Suddenly they saw a traveller coming down the road.

# The end

The sun had won.
"""


def test_a_document_becomes_a_book_with_its_chapters(
    client: Rhapsode, run_cli: Any, here: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "fables.md").write_text(BOOK)

    (tmp_path / "cover.jpg").write_bytes(JPEG)
    said = ("--title", "Fables", "--author", "Aesop", "--isbn", "0-306-40615-2", "--cover", "cover.jpg")
    wishes = ("--voice", "ada", "--chapter-files", "mp3", *said)
    outcome = run_cli("narrate", "fables.md", "-o", "fables.m4b", *wishes, env=here)

    assert outcome.returncode == 0, outcome.stderr
    names = ["01 The wind and the sun.mp3", "02 The traveller.mp3", "03 The end.mp3"]
    assert sorted(path.name for path in (tmp_path / "fables").iterdir()) == names
    chapters = MP4(tmp_path / "fables.m4b").chapters
    assert chapters is not None
    assert [chapter.title for chapter in chapters] == ["The wind and the sun", "The traveller", "The end"]
    assert "chapter " in outcome.stderr
    assert "3 chapters as files in fables" in outcome.stdout
    files = [MP3(tmp_path / "fables" / name) for name in names]
    assert [str(file["TRCK"]) for file in files] == ["1/3", "2/3", "3/3"]
    assert {str(file["TALB"]) + str(file["TPE1"]) + str(file["TXXX:ISBN"]) for file in files} == {
        "FablesAesop0-306-40615-2"
    }
    assert all(file.tags is not None and file.tags.getall("APIC")[0].data == JPEG for file in files)
    book = MP4(tmp_path / "fables.m4b")
    assert (book["\xa9nam"], bytes(book["covr"][0])) == (["Fables"], JPEG)
    (job,) = (each for each in client.jobs() if any(artifact.files for artifact in each.artifacts))
    (tmp_path / "all").mkdir()
    fetched = run_cli("jobs", "download", job.id, "-o", "all", env=here)
    assert fetched.returncode == 0, fetched.stderr
    assert {*(f"Fables - {name}" for name in names), "Fables.m4b"} < {
        path.name for path in (tmp_path / "all").iterdir()
    }
    refused = run_cli("narrate", "fables.md", "-o", "all", "--chapter-files", "mp3", env=here)
    assert (refused.returncode, "all has files already" in refused.stderr) == (2, True)


@pytest.mark.parametrize("pair", ["NARRATOR", "=ada", "A=ada"])
def test_a_cast_is_names_and_voices(run_cli: Any, here: dict[str, str], pair: str) -> None:
    outcome = run_cli("narrate", "-", "--speaker", "A=bob", "--speaker", pair, input=b"A: Hello.", env=here)

    assert outcome.returncode == 2
    assert "--speaker" in outcome.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("-o", "fable.doc"), "one of .wav, .flac, .mp3, .opus, .m4b"),
        (("-o", "fable.wav", "--pause-line", "11"), "--pause-line: 11 is not between 0 and 10"),
        (("-o", "fable.wav", "--bitrate", "64"), "wav has no bitrate to choose"),
        (("-o", "fable.opus", "--sample-rate", "44100"), "opus has no 44100 Hz"),
        (("-o", "fable.wav", "--destination", "../up"), "--destination: must be folders of lower-case letters"),
        (("-o", "fable.mp3", "--isbn", "12"), "--isbn: must be an ISBN of 10 or 13 digits"),
        (("-o", "fable.mp3", "--tag-language", "English"), "--tag-language: must be a BCP 47 tag"),
        (("-o", "fable.mp3", "--cover", "/dev/null"), "/dev/null is empty"),
        (("-o", "fable.mp3", "--cover", __file__), "it is neither JPEG nor PNG"),
    ],
)
def test_what_no_file_can_be_is_one_line(
    run_cli: Any, here: dict[str, str], arguments: tuple[str, ...], sentence: str
) -> None:
    outcome = run_cli("narrate", "-", *arguments, input=TEXT.encode(), env=here)

    assert outcome.returncode != 0
    assert sentence in outcome.stderr
    assert outcome.stderr.count("\n") == 1


def test_a_job_is_heard_to_its_end_by_both_clients_and_the_command_line(
    client: Rhapsode, stack: Stack, run_cli: Any, here: dict[str, str], tmp_path: Path
) -> None:
    job = client.submit_job(TEXT, seed=7)
    live = b"".join(client.listen(job))
    ended = client.wait(job, timeout_s=120).raise_unless_succeeded()

    async def heard() -> bytes:
        async with AsyncRhapsode(stack.url) as other:
            return b"".join([piece async for piece in other.listen(job)])

    narration = client.download(ended, "narration.wav", tmp_path / "narration.wav").read_bytes()
    assert asyncio.run(heard()) == narration
    assert live[44:] == narration[44:]
    assert run_cli("jobs", "listen", job.id, "-o", "heard.wav", env=here).returncode == 0
    with wave.open(io.BytesIO((tmp_path / "heard.wav").read_bytes())) as file:
        assert file.getnframes() == (len(narration) - 44) // 2
    assert run_cli("jobs", "listen", job.id, "-o", "heard.ogg", "--format", "opus", env=here).returncode == 0
    info = OggOpus(tmp_path / "heard.ogg").info
    assert isinstance(info, OggOpusInfo)
    assert info.length == pytest.approx(len(narration) / 48_000, abs=0.1)


def test_the_manifest_is_enough_to_make_the_same_file_again(client: Rhapsode, stack: Stack, tmp_path: Path) -> None:
    job = client.submit_job(f"A: {TEXT}\n\nB: 1,234 times.", seed=7, voice="ada", speakers={"A": "ada", "B": "tom"})
    ended = client.wait(job, timeout_s=120).raise_unless_succeeded()
    first = client.download(ended, "narration.wav", tmp_path / "first.wav").read_bytes()
    manifest = json.loads(client.download(ended, "manifest.json", tmp_path / "manifest.json").read_bytes())

    # What the command in it does with jq and curl.
    fields = ("text", "speaker", "language", "instructions", "seed", "pause_after_s")
    entries = [{name: row[name] for name in fields if row[name] is not None} for row in manifest["segments"]]
    assert all(name in manifest["reproduce"] for name in fields)
    body = manifest["request"] | {"input": {"segments": entries}}
    answer = httpx.post(f"{stack.url}/v1/jobs", json=body, timeout=30, trust_env=False)

    assert answer.status_code == 202, answer.text
    again = client.wait(answer.json()["id"], timeout_s=120).raise_unless_succeeded()
    assert client.download(again, "narration.wav", tmp_path / "again.wav").read_bytes() == first


def test_a_job_that_is_not_there_leaves_no_file(
    client: Rhapsode, run_cli: Any, here: dict[str, str], tmp_path: Path
) -> None:
    unknown = "job_01hzzzzzzzzzzzzzzzzzzzzzzz"

    with pytest.raises(NotFound):
        next(client.listen(unknown))
    outcome = run_cli("jobs", "listen", unknown, "-o", "none.wav", env=here)
    assert outcome.returncode == 1
    assert outcome.stderr.count("\n") == 1
    assert not (tmp_path / "none.wav").exists()
