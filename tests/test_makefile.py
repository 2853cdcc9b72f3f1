"""What the Makefile names is there, and its targets for a part of the tests run that part."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PATH_IN_TREE = re.compile(r"(?<![\w./$-])((?:tests|benchmarks|docker|docs|rhapsode)/[\w/.-]*\w)")


def planned(*arguments: str) -> subprocess.CompletedProcess[str]:
    """What `make` would run."""
    command = ["make", "--dry-run", "--no-print-directory", *arguments]
    # The tests may run below another `make`, whose jobs are none of this one's.
    environment = {name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "MAKELEVEL"}}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_every_path_that_it_names_exists() -> None:
    fast = planned("test-fast").stdout
    named = {*PATH_IN_TREE.findall((ROOT / "Makefile").read_text()), *PATH_IN_TREE.findall(fast)}

    assert len(PATH_IN_TREE.findall(fast)) > 20
    assert "tests/worker/engine/serving/test_admission_queue.py" in named
    assert sorted(path for path in named if not (ROOT / path).exists()) == []


def test_the_tests_of_a_source_folder_are_those_of_its_mirror() -> None:
    for folder in ("worker/engine/cpu", "api/live"):
        outcome = planned("test-of", f"FOLDER={folder}")

        assert outcome.returncode == 0
        assert f"pytest -n 2 --dist worksteal 'tests/{folder}'" in outcome.stdout


def test_a_folder_without_tests_is_refused_in_one_line() -> None:
    for folder in ("worker/nowhere", "worker/small_voice", ""):
        outcome = planned("test-of", f"FOLDER={folder}")

        assert outcome.returncode != 0
        assert outcome.stderr.count("\n") == 1
        assert f"there are no tests in tests/{folder}: FOLDER names a source folder" in outcome.stderr
