"""Real workers on the fake engine, each a process that a test starts and may kill; no API."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from storage.database.connections import connect_redis, open_artifacts
from storage.job_store.store import JobStore
from storage.jobs.record import JobRecord
from storage.jobs.whole_plan import whole_plan
from storage.jobs.work_queues import Lane
from storage.narration.spec import NarrationSpec
from storage.queue.celery_queue import TicketQueue, create_celery
from storage.queue.model_registry import ModelRegistry
from storage.runtime.config.settings import StorageSettings
from tests.environment import settings_of_stores, without_settings
from tests.process_tree import end_everything_below
from tests.worker.studio import SPEC, TENANT, submit_narration

WORKER = "-m worker.process.celery_command"
QUIETLY = "--without-mingle --without-gossip --without-heartbeat"


class System:
    """A broker, a store and the processes started so far."""

    def __init__(self, settings: StorageSettings, logs: Path) -> None:
        self._settings = settings
        self._logs = logs
        self._redis = connect_redis(settings)
        self._tickets = TicketQueue(create_celery(settings, "tests"))
        self.jobs = JobStore(self._redis, settings.key_prefix)
        self.artifacts = open_artifacts(settings)
        self.models = ModelRegistry(self._redis, settings.key_prefix)
        self.processes: list[subprocess.Popen[bytes]] = []

    def worker(self, lane: Lane, name: str = "", step_s: float = 0.001) -> subprocess.Popen[bytes]:
        """A worker as the supervisor starts it."""
        command = f"{WORKER} worker.{lane.value}_app --pool threads {QUIETLY}"
        more = {
            "RHAPSODE_ENGINE": "fake",
            "RHAPSODE_FAKE_STEP_S": str(step_s),
            "RHAPSODE_SLOTS": "4",
            "RHAPSODE_WORKER_NAME": name or f"{lane.value}-1",
        }
        return self.start([*command.split(), "--concurrency", "6"], f"{lane.value}.log", more)

    def janitor(self) -> subprocess.Popen[bytes]:
        return self.start(["-m", "worker.janitor"], "janitor.log", {})

    def submit(self, text: str, spec: NarrationSpec = SPEC) -> JobRecord:
        submitted = submit_narration(self.jobs, self.artifacts, text, spec)
        self._tickets.send(submitted.tickets)
        return submitted.job

    def submit_whole(self, text: str) -> JobRecord:
        """A job of one item."""
        submitted = submit_narration(self.jobs, self.artifacts, text, SPEC, whole_plan(text, SPEC))
        self._tickets.send(submitted.tickets)
        return submitted.job

    def submit_without_tickets(self, text: str) -> JobRecord:
        return submit_narration(self.jobs, self.artifacts, text, SPEC).job

    def record(self, job: JobRecord) -> JobRecord:
        return self.jobs.get(TENANT, job.id)

    def finished(self, job: JobRecord, within_s: float = 180) -> JobRecord:
        self.wait(lambda: self.record(job).state.is_terminal, within_s)
        return self.record(job)

    def wait(self, condition: Callable[[], bool], within_s: float = 180) -> None:
        give_up = time.monotonic() + within_s
        while not condition():
            if time.monotonic() > give_up:
                raise AssertionError("\n".join(log.read_text()[-4000:] for log in self._logs.glob("*.log")))
            time.sleep(0.02)

    def log(self, name: str) -> str:
        return (self._logs / name).read_text()

    def close(self) -> None:
        end_everything_below([process.pid for process in self.processes if process.poll() is None])
        for process in self.processes:
            process.wait()
        self._tickets.close()
        self._redis.close()

    def start(self, arguments: list[str], log: str, more: dict[str, str]) -> subprocess.Popen[bytes]:
        clean = without_settings(os.environ)
        settings = settings_of_stores(self._settings)
        with (self._logs / log).open("ab") as output:
            process = subprocess.Popen(
                [sys.executable, *arguments],
                env=clean | settings | more,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.processes.append(process)
        return process
