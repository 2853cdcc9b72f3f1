"""`python -m rhapsode`, and the processes that it becomes, beside folders and files called like our packages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.rhapsode.conftest import CLI, clean_environment

MODULE = (sys.executable, "-m", "rhapsode")
OURS = ("api", "reading", "storage", "worker")
FOLDERS = (OURS[::2], OURS[1::2])


@pytest.fixture(params=FOLDERS, ids=" ".join)
def crowded(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Some of our packages have folders called like them, the others files."""
    for name in OURS:
        if name in request.param:
            (tmp_path / name).mkdir()
            (tmp_path / name / "__init__.py").write_text("")
        else:
            (tmp_path / f"{name}.py").write_text("")
    return tmp_path


def said(folder: Path, *command: str, **settings: str) -> tuple[int, str]:
    """The status and the last line on standard error."""
    outcome = subprocess.run(
        command, cwd=folder, env=clean_environment(**settings), capture_output=True, text=True, check=False
    )
    return outcome.returncode, outcome.stderr.splitlines()[-1]


def test_the_module_finds_its_own_packages(crowded: Path) -> None:
    status, line = said(crowded, *MODULE, "up", "--host", "0.0.0.0", "--data-dir", "data")

    assert (status, line.split(":")[:2]) == (1, ["rhapsode", " refusing to listen on 0.0.0.0 without API keys"])


@pytest.mark.parametrize(
    ("crowded", "process"),
    [(FOLDERS[0], "api"), (FOLDERS[1], "cpu-worker"), (FOLDERS[0], "hooks-worker"), (FOLDERS[1], "janitor")],
    indirect=["crowded"],
)
def test_a_process_of_a_system_finds_its_own_packages(crowded: Path, process: str) -> None:
    status, line = said(crowded, CLI, "run", process, RHAPSODE_REDIS_URL="nonsense", RHAPSODE_STORE="file:///")

    assert status == 2
    assert "RHAPSODE_REDIS_URL" in line


def test_it_runs_where_it_is_not_installed() -> None:
    home = Path(__file__).parents[2]
    program = """
import sys, rhapsode.__main__
sys.path.insert(0, "")
rhapsode.__main__.leave_the_working_directory()
print(sys.path[0])
"""

    outcome = subprocess.run([sys.executable, "-c", program], cwd=home, capture_output=True, text=True, check=True)

    assert outcome.stdout == "\n"
