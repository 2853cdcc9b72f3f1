"""What hangs in spite of its time limit costs its own process only, and says where it hung."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.inner_pytest import ended, started, written

SHORT_LIMITS = """
from tests import hard_limit
hard_limit.GRACE_S = hard_limit.BACKSTOP_S = 0.5
"""

HANGING = """
import ctypes, subprocess, sys, time
import pytest

@pytest.mark.timeout(0.5)
def test_that_hangs_in_its_end():
    subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(60)"])
    try:
        time.sleep(60)
    finally:
        time.sleep(600)

@pytest.mark.timeout(0.5)
def test_that_hangs_in_c():
    library, mutex = ctypes.PyDLL(None), ctypes.create_string_buffer(64)
    library.pthread_mutex_lock(mutex)
    library.pthread_mutex_lock(mutex)

def test_that_passes():
    pass
"""

LEAVES_A_THREAD = """
import threading

def test_that_leaves_a_thread():
    threading.Thread(target=wait_for_ever).start()

def wait_for_ever():
    threading.Event().wait()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows who started whom in /proc")
def test_a_test_that_hangs_ends_its_process_and_the_others_run(tmp_path: Path) -> None:
    folder = written(tmp_path, HANGING, SHORT_LIMITS)

    status, said = ended(started(folder, "-m", "pytest", "-n", "1"))

    assert status == 1, said
    assert "worker 'gw0' crashed while running 'test_inner.py::test_that_hangs_in_its_end'" in said
    assert "test_inner.py::test_that_hangs_in_its_end has not ended 1 s after it began" in said
    assert "in test_that_hangs_in_its_end\n" in said
    assert "-S -c import time; time.sleep(60)): 1 x " in said
    assert "worker 'gw1' crashed while running 'test_inner.py::test_that_hangs_in_c'" in said
    assert "in test_that_hangs_in_c\n" in said
    assert "2 failed, 1 passed" in said


def test_a_thread_that_is_left_does_not_keep_the_process(tmp_path: Path) -> None:
    folder = written(tmp_path, LEAVES_A_THREAD, "from tests import hard_limit\nhard_limit.EXIT_S = 0.5")

    status, said = ended(started(folder, "-m", "pytest"))

    assert status == 1, said
    assert "1 passed" in said
    assert "in wait_for_ever\n" in said
