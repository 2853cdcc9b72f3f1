"""Runs of pytest within a test, in a folder of their own, with no plugin but those that are looked at."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PATIENCE_S = 240

INI = """
[pytest]
addopts = -p xdist.plugin -p pytest_timeout -p tests.hard_limit -ra
"""


def written(folder: Path, tests: str, conftest: str = "") -> Path:
    """A folder of tests."""
    (folder / "pytest.ini").write_text(INI)
    (folder / "conftest.py").write_text(conftest)
    (folder / "test_inner.py").write_text(tests)
    return folder


def started(folder: Path, *command: str) -> subprocess.Popen[str]:
    """Python with these arguments. Its output and its errors are one text, as in CI."""
    outer = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.Popen(
        [sys.executable, *command],
        cwd=folder,
        env=outer | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Its status, and all that it has printed."""
    with process:
        try:
            said, _ = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    return process.returncode, said
