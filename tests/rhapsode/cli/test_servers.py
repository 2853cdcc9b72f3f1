"""Which server a command talks to when one has come up on the data folder, and something of it is amiss."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from rhapsode.stack.layout import DataDir
from rhapsode.stack.process_identity import start_mark
from rhapsode.stack.state_file import Lifetime, StackState, write_state
from tests.rhapsode.conftest import ScriptedServer

UNREADY = {"status": "unavailable", "redis": "ok", "store": "unavailable", "threads": "ok", "claims": "open"}


@pytest.fixture
def folder(script: ScriptedServer, tmp_path: Path) -> str:
    """A data folder on which the scripted server is the stack, and this process its supervisor."""
    data_dir = DataDir(tmp_path / "data")
    data_dir.create()
    mine = start_mark(os.getpid())
    assert mine is not None
    write_state(data_dir, StackState(url=script.url, pid=os.getpid(), mark=mine, lifetime=Lifetime.SERVER))
    return str(data_dir.root)


def test_a_stack_that_is_not_ready_any_more_can_still_be_asked_about_its_jobs(
    run_cli: Any, script: ScriptedServer, folder: str
) -> None:
    script.answer(200, {"data": [], "next_cursor": None, "has_more": False})

    outcome = run_cli("jobs", "list", "--data-dir", folder)

    assert (outcome.returncode, outcome.stdout) == (0, "no jobs\n"), outcome.stderr
    assert [request.path.partition("?")[0] for request in script.received] == ["/v1/jobs"]


def test_a_narration_waits_for_a_model_on_its_way_back_and_for_nothing_else(
    run_cli: Any, script: ScriptedServer, folder: str
) -> None:
    script.answer(503, UNREADY | {"models": []})
    script.answer(503, UNREADY | {"models": ["small_voice"]})
    problem = {"title": "The store is full", "status": 503, "code": "storage_unavailable", "retryable": False}
    script.answer(503, problem | {"detail": "no space is left"}, {"Content-Type": "application/problem+json"})

    outcome = run_cli("narrate", "-", "--data-dir", folder, input=b"Hello.")

    assert outcome.returncode == 1
    assert outcome.stderr.splitlines()[0] == "waiting for the model to load"
    assert "no space is left" in outcome.stderr.splitlines()[-1]
