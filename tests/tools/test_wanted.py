"""What becomes of tests whose tools are not there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools.wanted import find_prometheus, without

TESTS = Path(__file__).parents[1]
PASSED_OVER = re.compile(r"pytest\.skip\(|importorskip\(|mark\.skip(?:if)?\(")
CANNOT_RUN_EVERYWHERE = {
    "another system than Linux": (
        "rhapsode/stack/planning/test_machine.py",
        "rhapsode/stack/supervision/test_supervisor.py",
        "storage/runtime/fork_server/test_fork_server.py",
        "test_hard_limit.py",
        "test_process_tree.py",
        "test_run_guard.py",
        "worker/engine/kokoro/test_files.py",
        "worker/engine/test_cores.py",
        "worker/process/test_successor.py",
        "worker/speech/postprocessing/test_deaths.py",
    ),
    "no /dev/full": ("rhapsode/cli/test_command_line.py", "worker/assembly/audio/test_scratch.py"),
    "no mount namespaces": ("docker/test_compose_runs.py",),
    "CONTAINER_TOOL and IMAGES say which": ("docker/test_built_images.py",),
    "no VNNI": ("worker/engine/kokoro/test_graph.py",),
    "one core": ("rhapsode/stack/test_several_processes.py",),
    "another GPU": ("gpu/test_convolutions_on_gpu.py", "gpu/test_small_devices_on_gpu.py"),
    "vLLM is installed, or the engine cannot do it": (
        "rhapsode/test_vllm_plugin.py",
        "worker/engine/test_engine_contract.py",
        "worker/engine/vllm/test_supported_versions.py",
    ),
}
"""Files of tests that some machines cannot run, by the reason."""

GET_PROMETHEUS = Path(__file__).parent / "get_prometheus.py"


def test_what_a_machine_could_get_is_passed_over_by_without_alone() -> None:
    """`without` fails in CI. Another skip stands in the list, with the reason that no machine of that kind can help."""
    passing = {
        file.relative_to(TESTS).as_posix()
        for file in TESTS.rglob("*.py")
        if file.parent != Path(__file__).parent and PASSED_OVER.search(file.read_text(encoding="utf-8"))
    }

    assert passing == {name for names in CANNOT_RUN_EVERYWHERE.values() for name in names}


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
