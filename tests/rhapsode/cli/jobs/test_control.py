"""What a user does with jobs after submitting them, through the client and the command line, on a whole stack."""

from __future__ import annotations

import asyncio
import sys
import wave
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from rhapsode import AsyncRhapsode, Conflict, Job, JobState, Rhapsode
from rhapsode.contract.segments import SegmentState
from rhapsode.stack.stack import Stack
from tests.rhapsode.cli.jobs.conftest import CommandLine
from tests.rhapsode.conftest import RunCli

TEXT = "The wind was cold.\n\nThe sun was warm.\n\nThey met at noon."


@pytest.fixture(scope="module")
def told(stack: Stack) -> Job:
    """One narration that the tests of this file change one after the other."""
    with Rhapsode(stack.url) as client:
        return client.wait(client.submit_job(TEXT, voice="ada", seed=5)).raise_unless_succeeded()


def test_a_segment_is_edited_and_the_narration_follows(client: Rhapsode, told: Job, tmp_path: Path) -> None:
    before = {segment.index: segment.sha256 for segment in client.segments.list(told)}

    edited = client.segments.edit(told, 1, text="The sun was hot.")
    ended = client.wait(told).raise_unless_succeeded()

    assert (edited.text, edited.take, edited.edited) == ("The sun was hot.", 2, True)
    after = {segment.index: segment for segment in client.segments.list(ended, {SegmentState.DONE}, page_size=2)}
    assert [index for index, segment in after.items() if segment.sha256 != before[index]] == [1]
    path = client.download(ended, "narration.wav", tmp_path / "edited.wav")
    with wave.open(str(path)) as heard:
        assert heard.getnframes() / heard.getframerate() == pytest.approx(ended.artifacts[0].duration_s, abs=0.001)


def test_events_go_on_behind_the_first_end(client: Rhapsode, told: Job) -> None:
    events = [event.type for event in client.events(told)]

    assert events.count("job.succeeded") == events.count("job.reopened") + 1 >= 2
    assert events[-1] == "job.succeeded"


def test_the_asyncio_client_regenerates_and_selects(stack: Stack, told: Job) -> None:
    async def story() -> tuple[list[int], bytes, bytes]:
        async with AsyncRhapsode(stack.url) as client:
            await client.segments.regenerate(told, "seg_000002")
            await client.wait(told)
            takes = await client.segments.takes(told, 2)
            heard = [await client.segments.audio(told, 2, take.take) for take in takes]
            await client.segments.select(told, 2, takes[0].take)
            await client.wait(told)
            return [take.take for take in takes], heard[0], heard[-1]

    numbers, first, last = asyncio.run(story())

    assert len(numbers) >= 2
    assert first != last


def test_pausing_changing_and_retrying(client: Rhapsode) -> None:
    job = client.submit_job("One. " * 200, voice="ada", priority="low")
    paused = client.pause(job)
    changed = client.change(job, priority="high", metadata={"a": "b"}, deadline=None)
    client.resume(job)
    cancelled = client.wait(client.cancel(job))

    again = client.retry(job)

    assert (paused.state, changed.metadata) == (JobState.PAUSED, {"a": "b"})
    assert cancelled.state is JobState.CANCELLED
    assert again.state in (JobState.PENDING, JobState.RUNNING)
    client.wait(job).raise_unless_succeeded()
    with pytest.raises(Conflict):
        client.retry(job)


def test_the_command_line_does_all_of_it(commands: CommandLine, stack: Stack, told: Job, tmp_path: Path) -> None:
    def run(*words: str, status: int = 0) -> str:
        return commands.run(*words, "--server", stack.url, status=status)

    listed = run("segments", told.id, "--state", "done").splitlines()
    sentences = run("sentences", told.id).splitlines()
    edited = run("edit", told.id, "seg_000000.1", "The wind was mild.", "--wait")
    takes = run("takes", told.id, "seg_000000", "--save", "new/takes").splitlines()
    run("takes", told.id, "0", "--select", "1", "--wait")
    flac = ("--format", "flac", "--tag", "title=Weather", "--subtitles", "srt")
    assembled = run("assemble", told.id, *flac, "--wait")
    run("assemble", told.id, "--loudness", "-20", "--subtitles", "none")
    run("watch", told.id)
    shown = run("show", told.id)
    request = httpx.get(f"{stack.url}/v1/jobs/{told.id}", trust_env=False).json()["request"]

    assert [line.split("\t")[0] for line in listed] == ["seg_000000", "seg_000001", "seg_000002"]
    assert [line.split("\t")[0] for line in sentences] == ["seg_000000.1", "seg_000001.1", "seg_000002.1"]
    assert edited.split("\t")[:2] == ["seg_000000", "done"]
    assert edited.endswith("take 2\t\tThe wind was mild.\n")
    assert [line.split("\t")[0] for line in takes] == ["  1", "* 2"]
    assert sorted(path.name for path in (tmp_path / "new/takes").glob("*.wav")) == [
        f"{told.id}-seg_000000-take-{n}.wav" for n in (1, 2)
    ]
    assert assembled.startswith(f"{told.id} succeeded: narration.flac, ")
    assert all(name in shown for name in ("narration.flac", "narration.wav", "narration.srt"))
    assert request["output"]["formats"] == [{"type": "flac", "bitrate_kbps": None, "files": "whole"}]
    assert (request["output"]["loudness"]["target_lufs"], request["output"]["subtitles"]) == (-20, [])
    assert request["output"]["tags"] == {"title": "Weather"}
    assert "succeeded cannot be retried" in run("retry", told.id, status=1)
    assert "cannot be changed" in run("set", told.id, "--priority", "high", status=1)
    assert "no such segment" in run("edit", told.id, "99", "--text", "x", status=1)
    assert "has no sentence 9" in run("edit", told.id, "0.9", "--text", "x", status=1)


def test_waiting_for_an_edit_that_no_worker_speaks_fails(
    commands: CommandLine, stack: Stack, client: Rhapsode, half_told: Job
) -> None:
    client.cancel(half_told)
    client.wait(half_told)

    said = commands.run("edit", half_told.id, "100", "--text", "They met.", "--wait", "--server", stack.url, status=1)

    line = said.splitlines()[-1]
    assert line.startswith(f"rhapsode: job {half_told.id} cancelled: ")
    assert line.endswith(f"; the change is kept for: rhapsode jobs retry {half_told.id}")


def test_a_narration_that_waits_for_its_time_is_let_go(commands: CommandLine, stack: Stack, client: Rhapsode) -> None:
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    job = client.submit_job("Good night.", voice="ada", seed=5, reproducibility="strict", not_before=tomorrow)

    waits = commands.run("show", job.id, "--server", stack.url)
    let_go = commands.run("set", job.id, "--not-before", "none", "--server", stack.url)
    ended = client.wait(job).raise_unless_succeeded()
    shown = commands.run("show", job.id, "--server", stack.url)

    assert f"{tomorrow.astimezone():%Y-%m-%d %H:%M}" in waits
    assert "pending" in let_go
    assert ended.engine is not None
    assert ended.engine.config_sha256 is not None
    assert ended.engine.config_sha256 in shown
    assert "the same speech under any load" in shown


def test_a_program_reads_what_became_of_a_job(commands: CommandLine, stack: Stack, half_told: Job) -> None:
    def run(*words: str, status: int = 0) -> Job:
        commands.run(*words, "--server", stack.url, "--json", status=status)
        return Job.model_validate_json(commands.printed)

    changed = run("set", half_told.id, "--priority", "high")
    commands.run("cancel", half_told.id, "--server", stack.url)
    watched = run("watch", half_told.id, status=1)
    again = run("retry", half_told.id)

    assert (changed.id, changed.state) == (half_told.id, JobState.PAUSED)
    assert (watched.id, watched.state) == (half_told.id, JobState.CANCELLED)
    assert (again.id, again.state.is_terminal) == (half_told.id, False)


def test_a_program_reads_what_is_assembled(commands: CommandLine, stack: Stack, client: Rhapsode) -> None:
    job = client.wait(client.submit_job("The night was long.", voice="ada")).raise_unless_succeeded()

    said = commands.run("assemble", job.id, "--format", "flac", "--wait", "--json", "--server", stack.url)

    assert "narration.flac" in [each.name for each in Job.model_validate_json(said).artifacts]


def test_a_list_says_that_there_are_more(run_cli: RunCli, stack: Stack, client: Rhapsode) -> None:
    for text in ("The day was short.", "The day was long."):
        client.wait(client.submit_job(text, voice="ada"))

    cut = run_cli("jobs", "list", "--limit", "1", "--server", stack.url)
    whole = run_cli("jobs", "list", "--limit", "10000", "--server", stack.url)

    assert (cut.stdout.count("\n"), cut.stderr) == (1, "there are more than these 1; --limit shows more\n")
    assert whole.stderr == ""


def test_a_terminal_sees_jobs_under_a_heading(
    commands: CommandLine, stack: Stack, client: Rhapsode, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = client.wait(client.submit_job("The day was short.", voice="ada"))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)

    heading, below, newest, _ = commands.run("list", "--limit", "1", "--server", stack.url).splitlines()

    assert below.strip() == "title: first words  (voice)"
    assert newest.startswith(job.id)
    assert newest.index(str(job.state)) == heading.index("state")
    assert newest.index(f"{job.created_at.astimezone():%b %d}") == heading.index("created")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("edit", "job_x", "0"), "`jobs takes --new` says the same words again"),
        (("set", "job_x"), "nothing to change"),
        (("set", "job_x", "--deadline", "tomorrow"), "2026-12-01T08:00"),
        (("set", "job_x", "--not-before", "tonight"), "2026-12-01T08:00"),
        (("set", "job_x", "--metadata", "x"), "NAME=VALUE"),
        (("takes", "job_x", "0", "--new", "--select", "1"), "exclude"),
        (("takes", "job_x", "0", "--save", "/dev/null"), "not a folder"),
        (("takes", "job_x", "0", "--wait"), "--new and --select"),
        (("download", "job_x", "a.wav", "--segments"), "leave the names out"),
        (("retry", "job_x", "--gate", "strict"), "'strict' is not one of"),
        (("retry", "job_x", "--attempts", "11"), "--attempts: 11 is not between 1 and 10"),
        (("retry", "job_x", "--temperature", "nan"), "--temperature: nan is not between 0 and 2"),
        (("edit", "job_x", "0", "--voice", "ada", "--speaker", "Ann"), "`voice` and `speaker` say the same; give one"),
        (("edit", "job_x", "0", "a", "--text", "b"), "TEXT and --text exclude each other"),
        (("edit", "job_x", "0", "--text", "..."), "--text: "),
        (("edit", "job_x", "0.1", "--text", "x", "--seed", "3"), "takes only --text"),
        (("lost", "job_x"), "No such command 'lost'"),
        (("assemble", "job_x", "--format", "ogg"), "'ogg' is not one of wav"),
        (("assemble", "job_x", "--bitrate", "64"), "--format"),
        (("assemble", "job_x", "--loudness", "loud"), "is neither a number"),
        (("assemble", "job_x", "--tag", "colour=red"), "one of title"),
        (("segments", "job_x", "--state", "ready"), "'ready' is not one of pending"),
    ],
)
def test_a_mistake_is_one_line_and_status_2(commands: CommandLine, words: tuple[str, ...], said: str) -> None:
    told = commands.run(*words, status=2)

    assert told.count("\n") == 1
    assert said in told
