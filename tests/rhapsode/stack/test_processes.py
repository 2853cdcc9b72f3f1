"""What a process of a stack is started with."""

from __future__ import annotations

from pathlib import Path

from rhapsode.stack.layout import DataDir
from rhapsode.stack.planning.plan import PlannedProcess
from rhapsode.stack.process_names import GPU_WORKER
from rhapsode.stack.processes import LIVE_PORT, spec_of


def test_each_gpu_worker_has_live_ports_that_no_other_has(tmp_path: Path) -> None:
    workers = [PlannedProcess(GPU_WORKER, number, 3, 1) for number in range(3)]

    specs = [spec_of(each, {LIVE_PORT: "8770"}, DataDir(tmp_path)) for each in workers]

    assert [each.environment[LIVE_PORT] for each in specs] == ["8770", "8772", "8774"]
