"""A segment that failed says in the terminal what was tried, and lets it be heard."""

from __future__ import annotations

from pathlib import Path

from storage.audio.wav import wav_header
from tests.rhapsode import answers
from tests.rhapsode.conftest import Reply, RunCli, ScriptedServer

WAV = wav_header(2, 24_000) + bytes(4)
REJECTED = {
    "attempt": 1,
    "seed": 7,
    "temperature": 0.0,
    "parts": 1,
    "findings": ["silent"],
    "reasons": ["it is silent"],
    "checks": {},
    "audio": "/v1/jobs/job_1/segments/seg_000002/audio?attempt=1",
}
REFUSED = REJECTED | {"attempt": 2, "seed": 8, "parts": 2, "reasons": ["unknown language"], "audio": None}


def test_the_attempts_at_a_segment_that_failed_are_listed_and_saved(
    run_cli: RunCli, script: ScriptedServer, tmp_path: Path
) -> None:
    failed = answers.answer("get_segment", index=2, state="failed", tried=[REJECTED, REFUSED])
    script.answer(200, {"status": "ok"})
    script.answer(200, {"data": []})
    script.answer(200, failed)
    script.replies.append(Reply(200, WAV, {"Content-Type": "audio/wav"}))

    outcome = run_cli("jobs", "takes", "job_1", "2", "--save", ".", "--server", script.url)

    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stdout.splitlines() == [
        "x 1\tseed 7\t\tit is silent",
        "x 2\tseed 8\tin two parts\tunknown language",
    ]
    assert (tmp_path / "job_1-2-rejected-1.wav").read_bytes() == WAV
    assert script.received[-1].path.endswith("/segments/2/audio?attempt=1")


def test_a_rejected_attempt_is_kept(run_cli: RunCli, script: ScriptedServer) -> None:
    script.answer(200, {"status": "ok"})
    script.answer(200, answers.answer("get_segment", index=2, state="done", findings=["silent"]))

    outcome = run_cli("jobs", "takes", "job_1", "2", "--keep", "1", "--server", script.url)
    both = run_cli("jobs", "takes", "job_1", "2", "--keep", "1", "--new", "--server", script.url)

    assert outcome.returncode == 0, outcome.stderr
    assert "\tsilent\t" in outcome.stdout
    assert script.received[-1].path.endswith("/segments/2/attempts/1/select")
    assert (both.returncode, "exclude each other" in both.stderr) == (2, True)
