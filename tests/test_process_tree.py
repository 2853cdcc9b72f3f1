"""What a test has started is found and ended to the last, also in a session of its own and in the midst of writing."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import process_tree
from tests.process_tree import children_of, end_everything_below, everything_below, is_alive, terminate

WRITER = """
import itertools, os, subprocess, sys
from pathlib import Path
folder, num_below = sys.argv[1], int(sys.argv[2])
if num_below:
    command = [sys.executable, "-S", "-c", sys.argv[3], folder, str(num_below - 1), sys.argv[3]]
    below = subprocess.Popen(command, start_new_session=num_below % 2 == 0)
else:
    print("all here", flush=True)
for number in itertools.count():
    Path(folder, f"{os.getpid()}-{number % 50}").write_text("still here")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows who started whom in /proc")
def test_when_all_below_a_process_are_ended_their_folder_can_go(tmp_path: Path) -> None:
    folder = tmp_path / "written"
    folder.mkdir()
    command = [sys.executable, "-S", "-c", WRITER, str(folder), "3", WRITER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as root:
        assert root.stdout is not None
        assert root.stdout.readline() == "all here\n"
        below = everything_below([root.pid])
        assert len(below) == 4
        assert children_of(root.pid)[0] in below

        end_everything_below([root.pid])

        shutil.rmtree(folder)
    assert not folder.exists()
    assert not any(is_alive(pid) for pid in below)


def test_a_process_that_ignores_its_end_is_killed_and_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_tree, "PATIENCE_S", 0.1)
    program = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); signal.pause()"
    with subprocess.Popen([sys.executable, "-S", "-c", program], stdout=subprocess.PIPE) as stubborn:
        assert stubborn.stdout is not None
        stubborn.stdout.readline()

        with pytest.raises(subprocess.TimeoutExpired):
            terminate(stubborn)
