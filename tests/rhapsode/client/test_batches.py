"""Batches through the clients and the command line: a file of jobs in, a line for each of them out."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rhapsode import AsyncRhapsode, BatchWaitTimedOut, Conflict, InvalidRequest, NotFound, Rhapsode, ServerUnreachable
from rhapsode.client.retries import RetryPolicy
from rhapsode.stack.stack import Stack
from tests.rhapsode import answers
from tests.rhapsode.conftest import RunCli, ScriptedServer

NAMES = ("dawn", "noon", "dusk")
PATIENCE_S = 60
BATCH = "bat_" + "0" * 26


@pytest.fixture
def batch_file(tmp_path: Path) -> Path:
    return write(
        tmp_path / "clips.jsonl", *({"custom_id": name, "input": {"text": f"It is {name}."}} for name in NAMES)
    )


def write(path: Path, *lines: object) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def a_result(line: int) -> str:
    ended = {"job_id": "job_1", "state": "succeeded", "artifacts": [], "error": None, "audio_s": 1.0}
    return json.dumps({"custom_id": f"clip {line}", "line": line, **ended}) + "\n"


def test_a_file_becomes_jobs_and_their_audio(client: Rhapsode, batch_file: Path, tmp_path: Path) -> None:
    submitted = client.batches.submit(batch_file, retention_s=3600, metadata={"day": "one"})
    ended = client.batches.wait(submitted, timeout_s=PATIENCE_S)
    results = list(client.batches.results(ended))

    assert (submitted.counts.total, submitted.metadata) == (3, {"day": "one"})
    assert (ended.state, ended.counts.succeeded, ended.counts.ended, ended.counts.made) == ("succeeded", 3, 3, 3)
    assert [(result.custom_id, result.line, result.state) for result in results] == [
        (name, line, "succeeded") for line, name in enumerate(NAMES, 1)
    ]
    assert all(result.audio_s > 0 and result.artifacts[0].name == "narration.wav" for result in results)
    job = client.job(results[0].job_id or "")
    assert client.download(job, "narration.wav", tmp_path / "dawn.wav").read_bytes()[:4] == b"RIFF"
    assert submitted.id in [batch.id for batch in client.batches.list(page_size=1)]

    client.batches.delete(ended)
    assert ended.id not in [batch.id for batch in client.batches.list()]
    assert client.job(job.id).state == "succeeded"


def test_a_key_and_a_file_are_one_batch_whoever_sends_them_again(client: Rhapsode, batch_file: Path) -> None:
    first = client.batches.submit(batch_file, idempotency_key="clips of today")
    again = client.batches.submit(batch_file, idempotency_key="clips of today")
    write(batch_file, {"custom_id": "other", "input": {"text": "Another file."}})

    assert again.id == first.id
    with pytest.raises(InvalidRequest) as refused:
        client.batches.submit(batch_file, idempotency_key="clips of today")
    assert refused.value.code == "idempotency_mismatch"
    client.batches.wait(first, timeout_s=PATIENCE_S)


def test_the_asyncio_client_does_the_same(stack: Stack, batch_file: Path) -> None:
    async def go() -> None:
        async with AsyncRhapsode(stack.url) as client:
            batch = await client.batches.submit(batch_file)
            ended = await client.batches.wait(batch, timeout_s=PATIENCE_S)
            assert [result.custom_id async for result in client.batches.results(batch)] == [*NAMES]
            with pytest.raises(Conflict):
                await client.batches.cancel(ended)
            assert batch.id in [each.id async for each in client.batches.list(page_size=1)]
            await client.batches.delete(batch)

    asyncio.run(go())


def test_a_file_with_a_bad_line_runs_nothing(client: Rhapsode, tmp_path: Path) -> None:
    before = [batch.id for batch in client.batches.list()]
    bad = write(tmp_path / "bad.jsonl", {"custom_id": "a", "input": {"text": "Good."}}, {"custom_id": "a"})

    with pytest.raises(InvalidRequest, match="line 2"):
        client.batches.submit(bad)
    assert [batch.id for batch in client.batches.list()] == before


def test_a_cancelled_batch_is_cancelled_with_its_jobs(
    stack: Stack, client: Rhapsode, run_cli: RunCli, tmp_path: Path
) -> None:
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    entries = [{"custom_id": f"clip {n}", "input": {"text": "Later."}, "not_before": tomorrow} for n in range(20)]
    batch = client.batches.submit(write(tmp_path / "long.jsonl", *entries))

    outcome = run_cli("batches", "cancel", batch.id, "--server", stack.url)
    ended = client.batches.wait(batch, timeout_s=PATIENCE_S)

    assert (outcome.returncode, outcome.stdout.split()[0]) == (0, batch.id), outcome.stderr
    assert ended.state == "cancelled"
    assert {result.state for result in client.batches.results(batch)} <= {None, "cancelled", "cancelling"}


def test_a_batch_that_is_not_there(client: Rhapsode) -> None:
    with pytest.raises(NotFound):
        client.batches.get(BATCH)
    with pytest.raises(NotFound):
        list(client.batches.results(BATCH))


def test_results_go_on_where_a_connection_broke(script: ScriptedServer) -> None:
    whole = "".join(a_result(line) for line in (1, 2, 3))
    script.cut(whole[:-30].encode())
    script.answer(503, {})
    script.answer(200, a_result(3))

    with Rhapsode(script.url, retries=RetryPolicy(first_delay_s=0.01)) as client:
        assert [result.line for result in client.batches.results(BATCH)] == [1, 2, 3]
    assert script.received[-1].path.endswith("/results?offset=2")


def test_results_that_never_get_further_are_given_up(script: ScriptedServer) -> None:
    script.cut(a_result(1).encode())
    for _ in range(2):
        script.cut(b"")

    with Rhapsode(script.url, retries=RetryPolicy(attempts=2, first_delay_s=0.01)) as client:
        results = client.batches.results(BATCH)
        assert next(results).line == 1
        with pytest.raises(ServerUnreachable):
            next(results)


def test_waiting_ends_in_time_and_says_how_far_the_batch_is(script: ScriptedServer) -> None:
    counts = {"total": 9, "made": 9, "succeeded": 3, "failed": 1, "cancelled": 0, "expired": 0}
    script.answer(200, answers.answer("get_batch", id=BATCH, state="running", counts=counts))

    with Rhapsode(script.url) as client, pytest.raises(BatchWaitTimedOut, match="4 of 9 jobs") as raised:
        client.batches.wait(BATCH, timeout_s=0)
    assert raised.value.batch.counts.failed == 1


def test_the_command_line_submits_watches_and_prints_results(
    stack: Stack, run_cli: RunCli, batch_file: Path, tmp_path: Path
) -> None:
    submitted = run_cli("batches", "submit", str(batch_file), "--metadata", "day=two", "--server", stack.url)
    batch = submitted.stdout.strip()
    watched = run_cli("batches", "watch", batch, "--server", stack.url)
    shown = run_cli("batches", "show", batch, "--server", stack.url)
    results = run_cli("batches", "results", batch, "--server", stack.url)
    listed = run_cli("batches", "list", "--limit", "1", "--server", stack.url)
    (tmp_path / "spoken").mkdir()
    to = ("--to", str(tmp_path / "spoken"), "--server", stack.url)
    fetched = run_cli("batches", "results", batch, *to)
    again = run_cli("batches", "results", batch, *to)
    removed = run_cli("batches", "rm", batch, "--server", stack.url)

    assert fetched.returncode == 0, fetched.stderr
    assert sorted(each.name for each in (tmp_path / "spoken").iterdir()) == sorted(NAMES)
    assert all((folder / "manifest.json").is_file() for folder in (tmp_path / "spoken").iterdir())
    assert all(line.endswith(" is here already") for line in again.stdout.splitlines())
    assert (watched.returncode, watched.stdout) == (0, f"{batch} succeeded: 3/3 succeeded\n")
    assert watched.stderr
    assert {"lines      3", "succeeded  3", "metadata   day=two"} <= set(shown.stdout.splitlines())
    assert [json.loads(line)["custom_id"] for line in results.stdout.splitlines()] == [*NAMES]
    assert listed.stdout.split("\t")[:3] == [batch, "succeeded", "3/3 succeeded"]
    assert removed.stdout == f"{batch} deleted\n"


def test_the_command_line_refuses_in_one_line(stack: Stack, run_cli: RunCli, tmp_path: Path) -> None:
    bad = write(tmp_path / "bad.jsonl", {"custom_id": "a", "input": {"text": " "}})
    missing = run_cli("batches", "submit", "nowhere.jsonl", "--server", stack.url)
    refused = run_cli("batches", "submit", str(bad), "--server", stack.url)

    assert (missing.returncode, missing.stderr.strip()) == (2, "rhapsode: nowhere.jsonl: no such file")
    assert refused.returncode == 1
    assert "line 1: /input/text" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
