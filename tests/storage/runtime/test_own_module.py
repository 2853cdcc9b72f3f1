"""A module of ours runs beside others called as it is, whatever the environment says."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from storage.database.library import library
from storage.runtime.own_module import isolated


def test_neither_the_working_folder_nor_pythonpath_decides_what_runs(tmp_path: Path) -> None:
    (tmp_path / "storage").mkdir()
    (tmp_path / "storage" / "__init__.py").write_text("raise RuntimeError('this package is another one')")
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}

    outcome = subprocess.run(
        isolated("storage.database.library"),
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert outcome.stdout == library().text
