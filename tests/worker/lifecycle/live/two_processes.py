"""A worker's settings with two live processes, on a machine of any size."""

from __future__ import annotations

from worker.settings import WorkerSettings


class TwoLiveProcesses(WorkerSettings):
    @property
    def num_live_processes(self) -> int:
        return 2
