"""`rhapsode up` with real processes on the fake engine: what happens when one of them, or all, are killed."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import time
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from rhapsode import Rhapsode
from rhapsode.stack.layout import DataDir
from rhapsode.stack.state_file import StackState, read_state
from storage.database.embedded_valkey import EmbeddedRedis
from tests.command_line import ONE_OF_EACH
from tests.process_tree import PATIENCE_S, everything_below, wait_until_gone
from tests.waiting import until

TEXT = "The wind and the sun were disputing which was the stronger. Suddenly they saw a traveller coming down the road."
NAMES = {"valkey", "api", "gpu-worker", "cpu-worker", "hooks-worker", "janitor"}

Up = Callable[..., tuple[subprocess.Popen[str], StackState]]


@pytest.fixture
def up(start_cli: Any, data_dir: Path) -> Up:
    """A ready `rhapsode up` on the test's data folder."""

    def start(*arguments: str, env: dict[str, str] | None = None) -> tuple[subprocess.Popen[str], StackState]:
        process = start_cli("up", "--port", "0", "--data-dir", str(data_dir), *ONE_OF_EACH, *arguments, env=env)
        lines = iter(process.stderr.readline, "")
        said: list[str] = []
        for line in lines:
            said.append(line)
            if line.startswith(("Ctrl-C stops it", '{"event": "ready"')):
                return process, state_of(data_dir)
        raise AssertionError("".join(said))

    return start


def wait_until_said(process: subprocess.Popen[str], words: str) -> None:
    assert process.stderr is not None
    assert any(line.startswith(words) for line in process.stderr), f"it ended without saying {words!r}"


def state_of(data_dir: Path) -> StackState:
    state = read_state(DataDir(data_dir))
    assert state is not None
    return state


def pids_of(state: StackState) -> dict[str, int]:
    return {record.name: record.pid for record in state.children}


def speak(url: str) -> None:
    with Rhapsode(url) as client:
        client.wait(client.submit_job(TEXT), timeout_s=PATIENCE_S).raise_unless_succeeded()


def test_ctrl_c_stops_every_process_and_the_next_start_remembers_the_jobs(up: Up, data_dir: Path) -> None:
    process, state = up()
    speak(state.url)
    assert set(pids_of(state)) == NAMES
    everything = everything_below({process.pid})

    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE_S)

    assert process.returncode == 0
    assert said.splitlines()[-1] == "stopped"
    wait_until_gone(everything)
    assert read_state(DataDir(data_dir)) is None
    _, again = up()
    with Rhapsode(again.url) as client:
        assert [job.state for job in client.jobs()] == ["succeeded"]


def test_a_second_ctrl_c_does_not_wait(up: Up) -> None:
    process, state = up()
    everything = everything_below({process.pid})
    # A worker that is stopped cannot follow an orderly end.
    os.kill(pids_of(state)["cpu-worker"], signal.SIGSTOP)

    process.send_signal(signal.SIGINT)
    wait_until_said(process, "stopping")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE_S)

    wait_until_gone(everything)


def test_each_killed_process_comes_back_and_the_system_speaks_again(up: Up, data_dir: Path) -> None:
    _, state = up()

    for name in sorted(NAMES):
        killed = pids_of(state_of(data_dir))[name]
        os.kill(killed, signal.SIGKILL)
        until(lambda name=name, killed=killed: pids_of(state_of(data_dir)).get(name) not in (None, killed))
        speak(state.url)


def test_a_killed_supervisor_leaves_nothing_and_the_next_start_works(up: Up, data_dir: Path) -> None:
    process, _ = up()
    everything = everything_below({process.pid})

    process.kill()
    process.wait()

    _, again = up()
    speak(again.url)
    wait_until_gone(everything)


def test_a_running_stack_is_found_by_its_folder_and_shares_neither_that_nor_its_port(
    up: Up, run_cli: Any, tmp_path: Path, data_dir: Path
) -> None:
    process, state = up()

    found = run_cli("narrate", "-", "-o", "out.wav", "--data-dir", str(data_dir), input=TEXT.encode())
    same_folder = run_cli("up", "--data-dir", str(data_dir), "--port", "0")
    same_port = run_cli("up", "--port", str(httpx.URL(state.url).port), "--data-dir", str(tmp_path / "other"))

    assert found.returncode == 0, found.stderr
    assert (tmp_path / "out.wav").exists()
    with Rhapsode(state.url) as client:
        assert len(list(client.jobs())) == 1
    for refused, words in ((same_folder, f"process {process.pid}, serving {state.url}"), (same_port, "--port")):
        assert refused.returncode == 1
        assert refused.stderr.count("\n") == 1
        assert words in refused.stderr


def test_narrate_without_a_server_runs_one_for_the_duration(run_cli: Any, tmp_path: Path, data_dir: Path) -> None:
    outcome = run_cli("narrate", "-", "-o", "out.wav", "--data-dir", str(data_dir), input=TEXT.encode())

    assert outcome.returncode == 0, outcome.stderr
    with wave.open(str(tmp_path / "out.wav")) as file:
        assert file.getnframes() > 0
    assert read_state(DataDir(data_dir)) is None


def test_ctrl_c_during_narrate_ends_its_stack_too(start_cli: Any, tmp_path: Path, data_dir: Path) -> None:
    (tmp_path / "long.txt").write_text(" ".join([TEXT] * 400))
    process = start_cli("narrate", "long.txt", "--data-dir", str(data_dir))
    wait_until_said(process, "speaking")
    everything = everything_below({process.pid})

    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE_S)

    assert process.returncode == 130
    assert "cancelled" in said
    assert "Traceback" not in said
    wait_until_gone(everything)


def test_a_process_that_cannot_start_ends_the_start_with_its_reason(run_cli: Any, data_dir: Path) -> None:
    outcome = run_cli("up", "--port", "0", "--data-dir", str(data_dir), env={"RHAPSODE_ENGINE": "steam"})

    assert outcome.returncode == 2
    assert "worker" in outcome.stderr.splitlines()[-1]
    assert "RHAPSODE_ENGINE" in outcome.stderr.splitlines()[-1]
    assert read_state(DataDir(data_dir)) is None


def test_a_second_narrate_uses_the_stack_of_the_first_which_waits_for_it(
    start_cli: Any, run_cli: Any, tmp_path: Path, data_dir: Path
) -> None:
    (tmp_path / "long.txt").write_text(" ".join([TEXT] * 80))
    first = start_cli("narrate", "-", "-o", "first.wav", "--data-dir", str(data_dir), input=TEXT)
    while read_state(DataDir(data_dir)) is None:
        assert first.poll() is None
        time.sleep(0.01)

    second = run_cli("narrate", "long.txt", "-o", "second.wav", "--data-dir", str(data_dir))
    _, said = first.communicate(timeout=PATIENCE_S)

    assert first.returncode == 0, said
    assert second.returncode == 0, second.stderr
    assert "started one" in said
    assert "started one" not in second.stderr
    assert (tmp_path / "first.wav").exists()
    assert (tmp_path / "second.wav").exists()


def test_a_redis_that_runs_already_is_used_and_keys_open_the_api_to_others(
    up: Up, run_cli: Any, valkey: EmbeddedRedis
) -> None:
    key = "a key of 256 random bits"
    digest = hashlib.sha256(key.encode()).hexdigest()
    keys = {"RHAPSODE_API_KEYS": json.dumps({digest: "acme"}), "RHAPSODE_REDIS_URL": valkey.url}
    _, state = up("--host", "0.0.0.0", env=keys)

    with_key = run_cli("narrate", "-", "--server", state.url, input=TEXT.encode(), env={"RHAPSODE_API_KEY": key})
    without_key = run_cli("jobs", "list", "--server", state.url)

    assert with_key.returncode == 0, with_key.stderr
    assert without_key.returncode == 1
    assert "401" in without_key.stderr
    assert set(pids_of(state)) == NAMES - {"valkey"}


def test_two_narrates_at_the_same_moment_share_one_stack(start_cli: Any, tmp_path: Path, data_dir: Path) -> None:
    both = [
        start_cli("narrate", "-", "-o", f"{number}.wav", "--data-dir", str(data_dir), input=TEXT) for number in (1, 2)
    ]

    said = [process.communicate(timeout=PATIENCE_S)[1] for process in both]

    assert [process.returncode for process in both] == [0, 0], said
    assert sum("started one" in each for each in said) == 1
    assert (tmp_path / "1.wav").exists()
    assert (tmp_path / "2.wav").exists()


def test_a_start_that_fails_is_an_event_for_who_collects_them(run_cli: Any, data_dir: Path) -> None:
    wrong = {"RHAPSODE_LOG_FORMAT": "json", "RHAPSODE_STORE": "gopher://here"}
    outcome = run_cli("up", "--port", "0", "--data-dir", str(data_dir), env=wrong)

    *_, last = [json.loads(line) for line in outcome.stderr.splitlines()]
    assert (outcome.returncode, last["event"], last["level"]) == (2, "not started", "critical")
    assert "RHAPSODE_STORE" in last["error"]
