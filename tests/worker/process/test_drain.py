from __future__ import annotations

import os
import subprocess
import sys
import threading
from dataclasses import replace

import pytest
import redis

from storage.queue.worker_registry import REPORT_INTERVAL_S, WorkerRegistry, WorkerReport, WorkerRole, WorkerState
from storage.runtime.config.settings import StorageSettings
from tests.environment import settings_of_stores
from tests.threads import join_in_time
from worker.process.reporting import Reporting

REPORT = WorkerReport("pod-7", WorkerRole.CPU, "host", 1, "0.1.0", 0, leases=2, queue="cpu")


class Reporter:
    """A worker that finishes what it holds `reports_until_done` reports after it heard of the wish."""

    def __init__(self, worker_registry: WorkerRegistry, reports_until_done: int) -> None:
        self._worker_registry = worker_registry
        self._left = reports_until_done
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Reporter:
        self._worker_registry.report(REPORT)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        join_in_time(self._thread)

    def _run(self) -> None:
        while not self._stop.wait(REPORT_INTERVAL_S / 2):
            is_draining = self._worker_registry.report(replace(REPORT, leases=2 if self._left > 0 else 0))
            self._left -= is_draining


@pytest.fixture
def worker_registry(redis_client: redis.Redis, storage_settings: StorageSettings) -> WorkerRegistry:
    return WorkerRegistry(redis_client, storage_settings.key_prefix)


def drain(settings: StorageSettings, wait_s: float, name: str = "pod-7") -> subprocess.CompletedProcess[str]:
    environment = settings_of_stores(settings) | {
        "PATH": os.environ["PATH"],
        "RHAPSODE_WORKER_NAME": name,
    }
    command = [sys.executable, "-m", "worker.process.drain", "--wait", str(wait_s)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)


def test_it_returns_when_the_worker_has_finished_what_it_held(
    worker_registry: WorkerRegistry, storage_settings: StorageSettings
) -> None:
    with Reporter(worker_registry, reports_until_done=2):
        outcome = drain(storage_settings, wait_s=40)

    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert worker_registry.list()[0].state is WorkerState.DRAINED


def test_a_report_says_whether_its_leases_were_counted_after_the_wish_was_known(
    worker_registry: WorkerRegistry,
) -> None:
    reporting = Reporting(worker_registry, "pod-7", WorkerRole.GPU)
    reporting.report_now()
    worker_registry.drain("pod-7")

    reporting.report_now()
    assert not worker_registry.list()[0].report.claims_nothing
    reporting.report_now()
    assert worker_registry.list()[0].report.claims_nothing


def test_it_says_so_when_the_time_is_over(worker_registry: WorkerRegistry, storage_settings: StorageSettings) -> None:
    with Reporter(worker_registry, reports_until_done=1000):
        outcome = drain(storage_settings, wait_s=2)

    assert outcome.returncode == 1
    assert outcome.stderr == "worker.process.drain: pod-7 still holds items after 2 s\n"


def test_a_worker_that_was_never_heard_of_is_named(
    worker_registry: WorkerRegistry, storage_settings: StorageSettings
) -> None:
    outcome = drain(storage_settings, wait_s=2, name="pod-8")

    assert outcome.returncode == 1
    assert "no worker 'pod-8' reported" in outcome.stderr
