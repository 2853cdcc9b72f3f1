"""`rhapsode jobs submit`: the API's own JSON, from a file or a pipe."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rhapsode import Rhapsode
from rhapsode.stack.stack import Stack
from tests.rhapsode.conftest import RunCli

BODY = {"input": {"text": "The wind was cold."}, "voice": "ada", "metadata": {"title": "Wind"}}


def test_a_request_becomes_a_job(run_cli: RunCli, stack: Stack, client: Rhapsode, tmp_path: Path) -> None:
    (tmp_path / "job.json").write_text(json.dumps(BODY))
    env = {"RHAPSODE_SERVER_URL": stack.url}

    first = run_cli("jobs", "submit", "job.json", "--idempotency-key", "one", env=env)
    again = run_cli("jobs", "submit", "-", "--idempotency-key", "one", env=env, input=json.dumps(BODY).encode())
    whole = run_cli("jobs", "submit", "job.json", "--wait", "--json", env=env)

    assert first.stderr == ""
    job = client.job(first.stdout.strip())
    assert (job.title, first.returncode) == ("Wind", 0)
    assert again.stdout == first.stdout
    answered = json.loads(whole.stdout)
    assert (whole.returncode, answered["state"]) == (0, "succeeded")
    assert whole.stderr.splitlines()[0] == answered["id"], "known at once: a terminal may be closed"


def test_openais_voice_is_the_same_one_at_every_door(run_cli: RunCli, stack: Stack, client: Rhapsode) -> None:
    env = {"RHAPSODE_SERVER_URL": stack.url}
    body = json.dumps(BODY | {"voice": "ash"}).encode()

    submitted = run_cli("jobs", "submit", "-", env=env, input=body)
    narrated = run_cli("narrate", "-", "--voice", "ash", "--detach", env=env, input=b"Hello.")
    said = run_cli("say", "Hello.", "--voice", "ash", "--no-play", "--save", "a.wav", env=env)
    tried = run_cli("voices", "try", "ash", "--no-play", "--save", "b.wav", env=env)

    voices = [client.job(each.stdout.strip()).request.model_dump()["voice"] for each in (submitted, narrated)]
    assert voices == ["tom", "tom"]
    assert said.stdout.endswith("voice tom\n"), said.stderr
    assert tried.stdout.endswith("voice tom\n"), tried.stderr


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (b"Hello.", "standard input is not JSON"),
        (b"[" * 100_000, "standard input is not JSON"),
        (b'"Hello."', "is not a JSON object"),
        (b"{}", "input"),
        (b'{"input": {"text": "Hello."}, "voise": "ada"}', "voise"),
        (b'{"input": {"text": "Hello."}, "validate_only": true}', "rhapsode plan"),
    ],
)
def test_what_is_no_request_is_said_before_a_server_is_asked(run_cli: RunCli, body: bytes, complaint: str) -> None:
    run = run_cli("jobs", "submit", "-", input=body, env={"RHAPSODE_SERVER_URL": "http://127.0.0.1:9"})

    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (2, "", 1)
    assert complaint in run.stderr


def test_a_refusal_names_the_page_of_its_code(run_cli: RunCli, stack: Stack) -> None:
    run = run_cli(
        "jobs",
        "submit",
        "-",
        input=b'{"input": {"text": "Hello."}, "voice": "nobody"}',
        env={"RHAPSODE_SERVER_URL": stack.url},
    )

    assert (run.returncode, run.stderr.count("\n")) == (1, 1)
    assert run.stderr.endswith(f"[404 voice_not_found]; see {stack.url}/errors/voice_not_found\n")
