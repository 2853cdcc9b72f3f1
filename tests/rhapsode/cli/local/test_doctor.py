"""`rhapsode doctor` where only the client is installed, as `pip install rhapsode` leaves it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rhapsode.cli.local.requirements import PARTS
from tests.rhapsode.conftest import RunCli, clean_environment

CLIENT_ONLY = """
import sys
for name in {missing!r}: sys.modules[name] = None
from rhapsode.__main__ import main
sys.argv = ["rhapsode", *{arguments!r}]
main()
"""


def with_the_client_alone(folder: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    missing = sorted({module for part in PARTS for module in part.modules})
    program = CLIENT_ONLY.format(missing=missing, arguments=arguments)
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env=clean_environment(**settings),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("settings", [{}, {"RHAPSODE_REDIS_URL": "redis://127.0.0.1:1"}], ids=["own", "given"])
def test_doctor_names_what_is_missing_and_looks_at_all_the_rest(tmp_path: Path, settings: dict[str, str]) -> None:
    outcome = with_the_client_alone(tmp_path, "doctor", "--data-dir", "data", **settings)

    assert (outcome.returncode, outcome.stderr) == (1, "")
    for part in PARTS:
        assert f"-> pip install 'rhapsode[{part.extra}]'" in outcome.stdout
    assert "ok       data folder" in outcome.stdout
    assert "port" in [line.split()[1] for line in outcome.stdout.splitlines() if len(line.split()) > 1]
    assert "note     would start      nothing because of: stores and queue, API, workers" in outcome.stdout
    assert "ok       would start" not in outcome.stdout


def test_doctor_says_what_it_would_start_and_why_and_refuses_what_cannot_be(tmp_path: Path) -> None:
    asked = with_the_client_alone(tmp_path, "doctor", "--data-dir", "data", RHAPSODE_API_PROCESSES="1")
    absent = with_the_client_alone(tmp_path, "doctor", "--data-dir", "data", RHAPSODE_DEVICE="cuda:0")

    table = asked.stdout[asked.stdout.index("would start") :].splitlines()[1:]
    assert table[0].split()[-6:] == ["process", "number", "device", "cores", "threads", "why"]
    assert [line.split()[1] for line in table[1:5]] == ["gpu-worker", "api", "cpu-worker", "hooks-worker"]
    assert table[2].split()[2] == "1"
    assert table[2].endswith("as asked for")
    assert "RHAPSODE_DEVICE: cuda:0 is not here; there is no GPU (torch is not installed)" in absent.stdout


@pytest.mark.parametrize(
    ("folder", "limit", "subject", "sentence"),
    [
        ("data\nfolder", None, "data folder", "control character in its name"),
        ("data", 24, "open files", "a process may open 24 files here, and 256 are needed"),
    ],
    ids=["line-feed", "ulimit"],
)
def test_what_would_stop_a_start_is_said_by_doctor_and_by_up(
    tmp_path: Path, run_cli: RunCli, folder: str, limit: int | None, subject: str, sentence: str
) -> None:
    def limited(*arguments: str) -> subprocess.CompletedProcess[str]:
        if limit is None:
            return run_cli(*arguments, "--data-dir", folder)
        limits = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({limit}, {limit}))"
        program = f"{limits}; from rhapsode.__main__ import main; main()"
        return subprocess.run(
            [sys.executable, "-c", program, *arguments, "--data-dir", folder],
            cwd=tmp_path,
            env=clean_environment(),
            capture_output=True,
            text=True,
            check=False,
        )

    found, refused = limited("doctor"), limited("up", "--port", "0")

    assert (found.returncode, refused.returncode) == (1, 1)
    assert f"MISSING  {subject}" in found.stdout
    assert sentence in found.stdout
    assert f"nothing because of: {subject}" in found.stdout
    assert refused.stderr.splitlines()[-1].startswith("rhapsode: ")
    assert sentence in refused.stderr.splitlines()[-1]
    assert not (tmp_path / folder).exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("up",),
        ("run", "api"),
        ("run", "janitor"),
        ("run", "gpu-worker"),
        ("calibrate", ".", "--language", "english"),
    ],
    ids=lambda arguments: "-".join(arguments[:2]),
)
def test_what_needs_more_than_the_client_says_so_in_one_line(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    outcome = with_the_client_alone(tmp_path, *arguments)

    assert (outcome.returncode, outcome.stderr.count("\n")) == (1, 1)
    assert "needs packages that are not installed" in outcome.stderr
    assert "pip install 'rhapsode[" in outcome.stderr
