"""Let the worker of this container finish before it is stopped: `python -m worker.process.drain --wait 120`.

For a supervisor that stops containers and may run a command in them beforehand. The worker is asked to claim nothing
more; this returns when it holds nothing, with status 0, or when the time is over, with status 1. What it still holds
then is handed back as with any stop.
"""

from __future__ import annotations

import argparse
import sys
import time

from pydantic import Field

from storage.database.connections import connect_redis
from storage.errors import StorageError
from storage.queue.worker_registry import WorkerRegistry, WorkerState
from storage.runtime.config.settings import StorageSettings, load_settings, settings_refused_by

LOOK_S = 0.5


class DrainSettings(StorageSettings):
    """worker_name: of the worker, which must have a configured one."""

    worker_name: str = Field(min_length=1)


def drain(worker_registry: WorkerRegistry, name: str, wait_s: float) -> bool:
    """Whether the worker held nothing in the end. Raises `WorkerUnknown` or `StoreUnavailable`."""
    worker_registry.drain(name)
    give_up_s = time.monotonic() + wait_s
    while time.monotonic() < give_up_s:
        worker = next((each for each in worker_registry.list() if each.report.name == name), None)
        if worker is None or worker.state is WorkerState.DRAINED:
            return True
        time.sleep(LOOK_S)
    return False


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m worker.process.drain", description=__doc__)
    parser.add_argument("--wait", type=float, default=120.0, metavar="SECONDS", help="how long at most (120)")
    wait_s = parser.parse_args().wait
    with settings_refused_by("worker.process.drain"):
        settings = load_settings(DrainSettings)
    try:
        with connect_redis(settings) as redis:
            is_drained = drain(WorkerRegistry(redis, settings.key_prefix), settings.worker_name, wait_s)
    except StorageError as error:
        sys.exit(f"worker.process.drain: {error}")
    if not is_drained:
        sys.exit(f"worker.process.drain: {settings.worker_name} still holds items after {wait_s:.0f} s")


if __name__ == "__main__":
    main()
