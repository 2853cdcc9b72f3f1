"""What becomes of tests whose tools are not there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools.wanted import find_prometheus, without

GET_PROMETHEUS = Path(__file__).parent / "get_prometheus.py"


def test_on_somebodys_machine_they_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)

    with pytest.raises(pytest.skip.Exception, match="no promtool"):
        without("no promtool is here")


def test_where_nobody_would_read_of_it_they_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")

    with pytest.raises(pytest.fail.Exception, match="no promtool"):
        without("no promtool is here")


def test_a_tool_is_found_on_the_path_and_beside_this_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "venv" / "python"))
    assert find_prometheus("promtool") is None

    beside = tmp_path / "venv" / "promtool"
    beside.parent.mkdir()
    beside.touch(0o755)
    assert find_prometheus("promtool") == beside

    (tmp_path / "promtool").touch(0o755)
    assert find_prometheus("promtool") == tmp_path / "promtool"


def test_what_cannot_be_had_is_said_in_a_line(tmp_path: Path) -> None:
    """No apt-get is on the path."""
    outcome = subprocess.run(
        [sys.executable, GET_PROMETHEUS], env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )

    # A Python that got them once has them beside it.
    assert outcome.returncode in (0, 1)
    assert outcome.stderr.count("\n") == outcome.returncode
    assert "Traceback" not in outcome.stderr
