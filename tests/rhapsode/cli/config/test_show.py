"""`rhapsode config show`: each setting with its value and where that comes from."""

from __future__ import annotations

import json
from pathlib import Path

from tests.command_line import CommandLine
from tests.rhapsode.conftest import RunCli, clean_environment
from worker.engine.cuda.memory_plan import MOST_LIVE_SLOTS
from worker.engine.kokoro.files import obstacle
from worker.engine.settings import LIVE_SLOTS

SECRET = "only-the-server-knows-this"


def test_each_setting_is_shown_with_its_source(run_cli: RunCli, tmp_path: Path) -> None:
    (tmp_path / "key").write_text(SECRET)
    env = {
        "RHAPSODE_SLOTS": "3",
        "RHAPSODE_WEBHOOK_KEY_FILE": str(tmp_path / "key"),
        "RHAPSODE_REDIS_URL": f"redis://:{SECRET}@state.example:6379/0",
        "RHAPSODE_API_KEYS": json.dumps({"a" * 64: "operator"}),
    }

    run = run_cli("config", "show", "--json", env=env)

    shown = {row["setting"]: row for row in map(json.loads, run.stdout.splitlines())}
    assert (run.returncode, run.stderr) == (0, "")
    assert SECRET not in run.stdout
    assert "a" * 64 not in run.stdout
    assert (shown["RHAPSODE_SLOTS"]["value"], shown["RHAPSODE_SLOTS"]["source"]) == ("3", "environment")
    assert shown["RHAPSODE_SLOTS"]["processes"] == ["gpu-worker", "cpu-worker"]
    assert shown["RHAPSODE_LIVE_SLOTS"]["value"] == f"{LIVE_SLOTS}, on a GPU up to {MOST_LIVE_SLOTS}"
    assert shown["RHAPSODE_WEBHOOK_KEY"]["source"] == f"file {tmp_path / 'key'}"
    assert shown["RHAPSODE_WEBHOOK_KEY"]["value"] == "(set)"
    assert shown["RHAPSODE_REDIS_URL"]["value"] == "redis://***@state.example:6379/0"
    assert shown["RHAPSODE_BROKER_URL"]["value"] == "redis://***@state.example:6379/1"
    assert (shown["RHAPSODE_API_KEYS"]["value"], shown["RHAPSODE_API_KEYS"]["source"]) == ("(hidden)", "environment")
    assert shown["RHAPSODE_STORE"]["source"] == "rhapsode up"
    assert (shown["RHAPSODE_PUBLIC_URL"]["value"], shown["RHAPSODE_PUBLIC_URL"]["source"]) == (None, "default")
    assert not list(tmp_path.glob("**/*.secret")), "looking draws nothing"


def test_it_shows_the_checkpoint_and_the_device_that_up_starts(command_line: CommandLine, tmp_path: Path) -> None:
    small = clean_environment(RHAPSODE_ENGINE="native")
    unset = {name: value for name, value in small.items() if name != "RHAPSODE_CHECKPOINT"}

    def shown(environment: dict[str, str]) -> tuple[str, str]:
        run = command_line.run("config", "show", "gpu-worker", "--json", folder=tmp_path, environment=environment)
        rows = {row["setting"]: row["value"] for row in map(json.loads, run.stdout.splitlines())}
        return Path(rows["RHAPSODE_CHECKPOINT"]).name, rows["RHAPSODE_DEVICE"]

    assert obstacle() == ""
    assert shown(unset) == ("kokoro", "cpu")
    assert shown(small) == ("small_voice", "each GPU, else cpu")


def test_what_is_given_alone_is_short(run_cli: RunCli) -> None:
    run = run_cli("config", "show", "api", "--given", env={"RHAPSODE_RATE_LIMIT": "7/second"})

    settings = [line.split("\t")[0] for line in run.stdout.splitlines()]
    assert "RHAPSODE_RATE_LIMIT\t7/second\tenvironment\tapi" in run.stdout
    assert "RHAPSODE_MAX_UPLOAD_BYTES" not in settings


def test_a_process_that_could_not_start_is_said_in_one_line(run_cli: RunCli) -> None:
    too_small = run_cli("config", "show", "api", env={"RHAPSODE_MAX_UPLOAD_BYTES": "1"})
    misspelt = run_cli("config", "show", "janitor", env={"RHAPSODE_LEASE": "3"})

    complaint = "rhapsode: api: RHAPSODE_MAX_UPLOAD_BYTES: must be greater than or equal to 1024\n"
    assert (too_small.returncode, too_small.stderr) == (1, complaint)
    assert misspelt.returncode == 1
    assert misspelt.stderr.count("\n") == 1
    assert "did you mean RHAPSODE_LEASE_S?" in misspelt.stderr
