"""`rhapsode narrate` and `rhapsode jobs` against a running system on the fake engine."""

from __future__ import annotations

import json
import signal
import time
import wave
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from rhapsode import JobState, Rhapsode
from rhapsode.stack.stack import Stack
from tests.rhapsode.conftest import ScriptedServer

NOBODYS_JOB = "job_01jd0000000000000000000000"
TEXT = "The wind and the sun were disputing which was the stronger. Suddenly they saw a traveller coming down the road."
PATIENCE_S = 120.0
LONG = " ".join(f"{TEXT} That was number {number}." for number in range(400))


@pytest.fixture
def here(stack: Stack) -> dict[str, str]:
    return {"RHAPSODE_SERVER_URL": stack.url}


def seconds_of(path: Path) -> float:
    with wave.open(str(path)) as file:
        return file.getnframes() / file.getframerate()


def test_a_file_becomes_a_wav_of_its_name(run_cli: Any, here: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "fable.txt").write_text(TEXT)

    outcome = run_cli("narrate", "fable.txt", "--seed", "7", env=here)

    assert outcome.returncode == 0, outcome.stderr
    assert seconds_of(tmp_path / "fable.wav") > 1
    assert outcome.stdout.startswith("fable.wav: ")
    assert "x real time" in outcome.stdout
    assert "seed 7" in outcome.stdout
    assert outcome.stderr.startswith("job job_")
    assert "speaking" in outcome.stderr or "joining" in outcome.stderr or "succeeded" in outcome.stderr


def test_a_detached_narration_goes_on_and_is_fetched_by_its_id(
    run_cli: Any, here: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "fable.txt").write_text(TEXT)

    handed_in = run_cli("narrate", "fable.txt", "--detach", env=here)
    job = handed_in.stdout.strip()
    watched = run_cli("jobs", "watch", job, env=here)
    fetched = run_cli("jobs", "download", job, "narration.wav", env=here)

    assert (handed_in.returncode, handed_in.stderr) == (0, "")
    assert watched.stdout == f"{job} succeeded\n", watched.stderr
    assert fetched.returncode == 0, fetched.stderr
    assert seconds_of(tmp_path / "narration.wav") > 1


def test_nothing_is_detached_from_a_server_that_ends_with_the_command(run_cli: Any, tmp_path: Path) -> None:
    (tmp_path / "fable.txt").write_text(TEXT)

    outcome = run_cli("narrate", "fable.txt", "--detach", "--data-dir", str(tmp_path / "data"))

    assert (outcome.returncode, outcome.stdout) == (1, "")
    assert "no server is running with the data folder" in outcome.stderr


def test_the_same_seed_gives_the_same_file_and_json_tells_the_facts(
    run_cli: Any, here: dict[str, str], tmp_path: Path
) -> None:
    first = run_cli("narrate", "-", "-o", "a.wav", "--seed", "7", "--json", input=TEXT.encode(), env=here)
    second = run_cli(
        "narrate", "-", "-o", "b.wav", "--seed", "7", "--no-reuse", "--json", input=TEXT.encode(), env=here
    )

    assert "off: every segment is spoken" in run_cli("jobs", "show", json.loads(second.stdout)["job"], env=here).stdout
    assert first.returncode == second.returncode == 0
    assert (tmp_path / "a.wav").read_bytes() == (tmp_path / "b.wav").read_bytes()
    facts = json.loads(first.stdout)
    assert facts["file"] == "a.wav"
    assert facts["seed"] == 7
    assert facts["audio_s"] == pytest.approx(seconds_of(tmp_path / "a.wav"), abs=1e-2)


def test_what_the_api_can_be_told_narrate_can(
    run_cli: Any, client: Rhapsode, here: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "The\tFable.txt").write_text(TEXT)
    endpoint = client.webhooks.create("http://127.0.0.1:9/", ["job.failed"]).id
    drawn = ("--temperature", "0.7", "--top-k", "20", "--top-p", "0.9", "--repetition-penalty", "1.1")
    drawn += ("--subtalker-temperature", "0.6", "--subtalker-top-k", "9", "--subtalker-top-p", "0.8", "--do-sample")
    drawn += ("--max-new-tokens", "2000")
    checked = ("--gate", "off", "--attempts", "2", "--on-exhausted", "silence")
    paused = ("--pause-sentence", "0.5", "--pause-line", "0.3")
    ordered = ("--priority", "high", "--deadline", "2099-01-01", "--webhook", endpoint)

    outcome = run_cli("narrate", "The\tFable.txt", "-o", "a.wav", *drawn, *checked, *paused, *ordered, env=here)
    client.webhooks.delete(endpoint)

    assert outcome.returncode == 0, outcome.stderr
    job = next(iter(client.jobs()))
    told = httpx.get(f"{client.server_url}/v1/jobs/{job.id}", trust_env=False).json()
    request = told["request"]
    assert request["sampling"] == {
        "temperature": 0.7,
        "top_k": 20,
        "top_p": 0.9,
        "repetition_penalty": 1.1,
        "subtalker_temperature": 0.6,
        "subtalker_top_k": 9,
        "subtalker_top_p": 0.8,
        "do_sample": True,
        "max_new_tokens": 2000,
    }
    assert request["quality"] == {"gate": "off", "max_attempts": 2, "on_exhausted": "silence"}
    assert (request["pauses"]["sentence_s"], request["pauses"]["line_s"]) == (0.5, 0.3)
    assert (request["priority"], request["deadline"][:3]) == ("high", "209")
    assert told["webhook"]["endpoint_id"] == endpoint
    assert told["metadata"] == {"title": "The Fable"}
    listed = run_cli("jobs", "list", "--limit", "1", env=here).stdout.rstrip("\n").split("\t")
    assert listed[-3:] == [
        "ada",
        "The Fable",
        "The wind and the sun were disputing which was the stronger. Suddenly they saw a…",
    ]


def test_instructions_are_sent(run_cli: Any, script: ScriptedServer) -> None:
    script.answer(200, {})
    script.answer(422, {"title": "Refused", "code": "invalid_request", "status": 422, "detail": "not so"})

    outcome = run_cli("narrate", "-", "--instructions", "Gently.", "--server", script.url, input=TEXT.encode())

    assert (outcome.returncode, outcome.stderr.count("\n")) == (1, 1)
    assert json.loads(script.received[-1].body) | {"output": {}} == {
        "input": {"text": TEXT},
        "instructions": "Gently.",
        "metadata": {},
        "output": {},
    }


@pytest.mark.parametrize(
    ("options", "loudness"),
    [
        ((), {"target_lufs": -19.0, "scope": "segment"}),
        (("--loudness", "-16"), {"target_lufs": -16.0}),
        (("--loudness", "none"), None),
        (("--loudness", "none", "--preset", "broadcast"), None),
    ],
)
def test_each_segment_comes_to_one_level_unless_another_one_is_asked_for(
    run_cli: Any, script: ScriptedServer, options: tuple[str, ...], loudness: object
) -> None:
    script.answer(200, {})
    script.answer(422, {"title": "Refused", "code": "invalid_request", "status": 422, "detail": "not so"})

    run_cli("narrate", "-", *options, "--server", script.url, input=TEXT.encode())

    assert json.loads(script.received[-1].body)["output"]["loudness"] == loudness


def test_a_presets_level_is_its_own(run_cli: Any, script: ScriptedServer) -> None:
    script.answer(200, {})
    script.answer(422, {"title": "Refused", "code": "invalid_request", "status": 422, "detail": "not so"})

    run_cli("narrate", "-", "--preset", "broadcast", "--server", script.url, input=TEXT.encode())

    assert "loudness" not in json.loads(script.received[-1].body)["output"]


def test_force_replaces_the_old_file(run_cli: Any, here: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "narration.wav").write_bytes(b"old")

    assert run_cli("narrate", "-", "--force", input=TEXT.encode(), env=here).returncode == 0
    assert seconds_of(tmp_path / "narration.wav") > 1


def test_what_the_server_refuses_is_one_line_with_the_place(run_cli: Any, here: dict[str, str], tmp_path: Path) -> None:
    outcome = run_cli("narrate", "-", "--voice", "nobody", input=TEXT.encode(), env=here)

    assert outcome.returncode == 1
    assert outcome.stderr.count("\n") == 1
    assert "/voice" in outcome.stderr
    assert not (tmp_path / "narration.wav").exists()


def test_ctrl_c_cancels_the_job(start_cli: Any, client: Rhapsode, here: dict[str, str], tmp_path: Path) -> None:
    before = {job.id for job in client.jobs()}
    (tmp_path / "long.txt").write_text(LONG)
    process = start_cli("narrate", "long.txt", env=here)
    job = _new_job(client, before)

    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE_S)

    assert process.returncode == 130
    assert f"job {job} cancelled" in said
    assert "Traceback" not in said
    assert client.job(job).state is JobState.CANCELLED
    assert not (tmp_path / "long.wav").exists()


@pytest.fixture
def as_in_a_terminal() -> Iterator[None]:
    """Processes end when it is closed, also where nohup started the tests."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("as_in_a_terminal")
def test_a_terminal_that_is_closed_cancels_nothing(
    start_cli: Any, client: Rhapsode, here: dict[str, str], tmp_path: Path
) -> None:
    before = {job.id for job in client.jobs()}
    (tmp_path / "long.txt").write_text(LONG)
    process = start_cli("narrate", "long.txt", env=here)
    job = _new_job(client, before)
    # By then the command has the answer with the job's id.
    while client.job(job).state != JobState.RUNNING:
        time.sleep(0.02)

    process.send_signal(signal.SIGHUP)
    _, said = process.communicate(timeout=PATIENCE_S)

    assert process.returncode == 143
    assert f"job {job}" in said
    assert "cancel" not in said
    assert client.cancel(job).state in (JobState.CANCELLING, JobState.CANCELLED)


def test_a_failed_job_is_status_1(start_cli: Any, client: Rhapsode, here: dict[str, str], tmp_path: Path) -> None:
    before = {job.id for job in client.jobs()}
    (tmp_path / "long.txt").write_text(LONG)
    process = start_cli("narrate", "long.txt", env=here)

    client.cancel(_new_job(client, before))
    _, said = process.communicate(timeout=PATIENCE_S)

    assert process.returncode == 1
    assert "cancelled" in said.splitlines()[-1]


def test_jobs_are_listed_shown_watched_cancelled_and_deleted(
    run_cli: Any, client: Rhapsode, here: dict[str, str]
) -> None:
    short, long = client.submit_job(TEXT), client.submit_job(LONG)
    # However long the commands take, it has not ended when it is cancelled.
    client.pause(long)

    watched = run_cli("jobs", "watch", short.id, env=here)
    listed = run_cli("jobs", "list", "--limit", "5", env=here)
    shown = run_cli("jobs", "show", short.id, env=here)
    shown_as_json = run_cli("jobs", "show", short.id, "--json", env=here)
    refused = run_cli("jobs", "rm", long.id, env=here)
    cancelled = run_cli("jobs", "cancel", long.id, env=here)
    client.wait(long, timeout_s=PATIENCE_S)
    deleted = run_cli("jobs", "rm", short.id, NOBODYS_JOB, long.id, env=here)
    gone = run_cli("jobs", "show", short.id, env=here)

    assert watched.stdout == f"{short.id} succeeded\n"
    assert f"{short.id}\tsucceeded" in listed.stdout
    assert "narration.wav" in shown.stdout
    assert json.loads(shown_as_json.stdout)["state"] == "succeeded"
    assert refused.returncode == 1
    assert refused.stderr.count("\n") == 1
    assert cancelled.stdout.startswith(f"{long.id} cancel")
    assert deleted.stdout == f"{short.id} deleted\n{long.id} deleted\n"
    assert (deleted.returncode, deleted.stderr.count("\n")) == (1, 1)
    assert deleted.stderr.startswith(f"rhapsode: {NOBODYS_JOB}: ")
    assert gone.returncode == 1


def _new_job(client: Rhapsode, before: set[str]) -> str:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        for job in client.jobs():
            if job.id not in before:
                return job.id
        time.sleep(0.05)
    raise AssertionError("no job was submitted")
