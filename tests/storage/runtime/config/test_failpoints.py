from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from storage.runtime.config import failpoints
from storage.runtime.config.failpoints import EXIT_CODE, FAILPOINTS, FailpointName, failpoint
from storage.runtime.config.settings import SettingsError

PROGRAM = """
import sys
from storage.runtime.config.failpoints import configure, failpoint
configure(sys.argv[1])
for _ in range(int(sys.argv[2])):
    failpoint("plan.after_put")
print("survived")
"""


@pytest.fixture(autouse=True)
def nothing_selected() -> Iterator[None]:
    yield
    failpoints.configure("")


def run(selection: str, passes: int = 1) -> int:
    return subprocess.run([sys.executable, "-c", PROGRAM, selection, str(passes)], check=False).returncode


def test_a_selected_failpoint_dies_as_from_kill_9() -> None:
    assert run("plan.after_put:kill") == -signal.SIGKILL


def test_a_selected_failpoint_ends_the_process() -> None:
    assert run("plan.after_put:exit") == EXIT_CODE


def test_a_small_probability_strikes_in_the_end() -> None:
    # 0.9^5,000 is nothing.
    assert run("plan.after_put:exit:0.1", passes=5_000) == EXIT_CODE


def test_a_passage_is_counted_from_the_start_of_the_process() -> None:
    assert run("plan.after_put:exit:3", passes=2) == 0
    assert run("plan.after_put:exit:3", passes=3) == EXIT_CODE


def test_another_failpoint_is_passed() -> None:
    assert run("claim.after:kill") == 0


@pytest.mark.parametrize("name", FAILPOINTS)
def test_nothing_happens_where_nothing_is_selected(name: FailpointName) -> None:
    failpoint(name)


@pytest.mark.parametrize(
    "text",
    [
        "nowhere:kill",
        "plan.after_put",
        "plan.after_put:explode",
        *(f"claim.after:kill:{p}" for p in ["0", "1.5", "x", "-1", "nan", "inf"]),
    ],
)
def test_a_selection_that_means_nothing_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="RHAPSODE_FAILPOINT"):
        failpoints.configure(text)
