"""`make test`: one flicker fails nothing, a failure does, and no run ends without a word."""

from __future__ import annotations

from pathlib import Path

from tests.inner_pytest import PATIENCE_S, ended, started, written
from tests.tools import run_tests
from tests.waiting import until

RUN_TESTS = run_tests.__file__

FLAKY = r"""
import os
from pathlib import Path
import pytest

def begins_first(name):
    try:
        Path(name).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True

@pytest.fixture
def server():
    assert not begins_first("server"), "the server did not start"

@pytest.fixture
def client():
    yield
    assert not begins_first("client"), "the client did not end"

NAMES = ["@a b[c]::d", "line\nbreak", "-n 2", "\u00fc\u2028", "", "'\"\\"]

@pytest.mark.parametrize(("number", "name"), list(enumerate(NAMES)), ids=[*NAMES[:4], "empty", NAMES[5]])
def test_names(number, name):
    assert not begins_first(f"name {number}"), f"first of {name!r}"

def test_setup(server): pass

def test_teardown(client): pass

def test_crash():
    if begins_first("crash"):
        os._exit(3)

def test_good(): pass
"""

FAILING = """
import pytest

def test_bad(): assert 1 == 2

def test_good(): pass

@pytest.mark.skip(reason="no such device")
def test_skipped(): pass
"""

BROKEN = """
import pytest

@pytest.mark.parametrize("number", range(11))
def test_bad(number): assert False
"""

HANGING = """
from pathlib import Path
import time
import pytest

def test_good(): pass

@pytest.mark.timeout(0)
def test_that_hangs():
    Path("hangs").touch()
    time.sleep(600)
"""


def test_what_passes_alone_is_flaky_and_the_run_is_green(tmp_path: Path) -> None:
    status, said = ended(started(written(tmp_path, FLAKY), RUN_TESTS, "2"))

    assert status == 0, said
    assert said.endswith("\ntests: 1 passed, 0 failed, 0 skipped, 9 flaky\n")
    assert said.count("\nflaky: test_inner.py::") == 9
    assert "flaky: test_inner.py::test_names[@a b[c]::d]\n" in said
    assert "first of 'line\\nbreak'" in said.partition("flaky: test_inner.py::test_names[line\\nbreak]\n")[2]
    assert "    E       AssertionError: the server did not start\n" in said
    assert "    E       AssertionError: the client did not end\n" in said
    assert "crashed while running 'test_inner.py::test_crash'" in said.partition("flaky: test_inner.py::test_crash")[2]


def test_what_fails_twice_is_red_and_skips_have_their_reason(tmp_path: Path) -> None:
    status, said = ended(started(written(tmp_path, FAILING), RUN_TESTS, "2"))

    assert status == 1, said
    assert "\nfailed twice: test_inner.py::test_bad\n" in said
    assert "1 failed, 1 passed, 1 skipped" in said
    assert "no such device" in said
    assert "slowest 40 durations" in said
    assert said.endswith("\ntests: 1 passed, 1 failed, 1 skipped, 0 flaky\n")


def test_many_failures_are_not_run_again(tmp_path: Path) -> None:
    status, said = ended(started(written(tmp_path, BROKEN), RUN_TESTS, "1"))

    assert status == 1, said
    assert said.count("test session starts") == 1
    assert "11 tests have failed: more than 10 are not run again." in said
    assert said.endswith("\ntests: 0 passed, 11 failed, 0 skipped, 0 flaky\n")


def test_a_run_that_cannot_begin_is_red(tmp_path: Path) -> None:
    status, said = ended(started(written(tmp_path, "import no_such_module"), RUN_TESTS, "1"))

    assert status == 1, said
    assert "No module named 'no_such_module'" in said
    assert "failed twice: test_inner.py\n" in said
    assert said.endswith("\ntests: 0 passed, 1 failed, 0 skipped, 0 flaky\n")


def test_a_run_that_is_stopped_says_what_it_was_doing(tmp_path: Path) -> None:
    run = started(written(tmp_path, HANGING), RUN_TESTS, "1")
    until((tmp_path / "hangs").exists, within_s=PATIENCE_S)

    run.terminate()
    status, said = ended(run)

    assert status == 1, said
    assert ", runs test_inner.py::test_that_hangs\n" in said
    assert "in test_that_hangs\n" in said
    assert "error: the run was stopped by SIGTERM\nerror: gw0 was running test_inner.py::test_that_hangs\n" in said
    assert said.endswith("\ntests: 1 passed, 1 failed, 0 skipped, 0 flaky\n")


def test_a_run_has_a_time_limit(tmp_path: Path) -> None:
    folder = written(tmp_path, HANGING)
    program = "import sys; from tests.tools.run_tests import main; sys.exit(main(1, limit_s=0))"

    status, said = ended(started(folder, "-c", program))

    assert status == 1, said
    assert "error: the run has reached its time limit" in said
    assert said.endswith(" failed, 0 skipped, 0 flaky\n")
