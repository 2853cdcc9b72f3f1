"""A run that is killed takes its servers along, whether of tests or a benchmark, also one that another run started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.process_tree import is_alive
from tests.run_guard import MARK
from tests.waiting import until

PROGRAM = """
import subprocess, sys, time
from pathlib import Path
from storage.database.embedded_valkey import EmbeddedRedis
from tests.run_guard import guarded_run
def sleeper():
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True).pid
with guarded_run(Path(sys.argv[1])) as folder:
    servers = [EmbeddedRedis(folder / "near"), EmbeddedRedis(Path(sys.argv[1]) / "far")]
    for server in servers:
        server.start()
    pids = [sleeper(), *(server.pid for server in servers)]
    with guarded_run() as within:
        print(folder, within, sleeper(), *pids, flush=True)
        time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows the environment of other processes")
def test_a_killed_run_and_one_within_it_leave_neither_servers_nor_folders(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != MARK}
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as run:
        assert run.stdout is not None
        folder, within, *pids = run.stdout.readline().split()
        assert len(pids) == 4

        run.send_signal(signal.SIGKILL)

    until(lambda: not any(is_alive(int(pid)) for pid in pids))
    until(lambda: not Path(folder).exists() and not Path(within).exists())
