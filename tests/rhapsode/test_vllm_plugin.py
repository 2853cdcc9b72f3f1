"""What vLLM calls in its processes: in a checkout, where our packages lie beside `rhapsode`. `tests/test_wheel.py` asks
the same of a wheel.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from rhapsode.system_packages import environment, is_ours
from rhapsode.vllm_plugin import ENGINE, register


def test_it_goes_on_to_the_engine() -> None:
    assert is_ours("worker")
    assert find_spec(ENGINE) is not None


@pytest.mark.skipif(find_spec("vllm") is not None, reason="it would register with the vLLM that is installed")
def test_the_engine_is_asked_and_nothing_is_swallowed() -> None:
    with pytest.raises(ModuleNotFoundError, match="'vllm'"):
        register()


def test_where_another_worker_comes_first_nothing_of_it_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "worker.py").write_text("raise RuntimeError('this module is another one')")
    program = "import logging; logging.basicConfig(level='INFO'); from rhapsode.vllm_plugin import register; register()"

    outcome = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )

    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stderr.startswith("INFO:rhapsode.vllm_plugin:vLLM does not get Rhapsode's talker")


def test_a_checkout_needs_nothing_on_the_path() -> None:
    assert environment({"PYTHONPATH": "mine"}) == {"PYTHONSAFEPATH": "1"}
