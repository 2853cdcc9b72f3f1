"""A worker's settings with as many fronts as `FRONTS` says, on a machine of any size."""

from __future__ import annotations

import os

from worker.settings import WorkerSettings


class FrontsSettings(WorkerSettings):
    @property
    def num_fronts(self) -> int:
        return int(os.environ["FRONTS"])
