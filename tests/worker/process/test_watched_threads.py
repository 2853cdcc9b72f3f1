"""A background thread of a worker that dies is started again; meanwhile the worker's report names it."""

from __future__ import annotations

import threading
import time
from functools import partial

import pytest
import redis

from storage.queue.worker_registry import WorkerRegistry, WorkerRole
from storage.runtime.observability.metrics import REGISTRY
from storage.runtime.watched import tasks_down, watched_thread
from tests.waiting import until
from worker.janitor.periodic_jobs import Chore, run_chores
from worker.process.periodic import Periodic
from worker.process.reporting import Reporting

PATIENCE_S = 60.0


def down(task: str) -> float | None:
    return REGISTRY.get_sample_value("rhapsode_background_tasks_down", {"task": task})


def test_a_periodic_thread_comes_back_and_its_worker_says_that_it_is_down(
    redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    registry = WorkerRegistry(redis_client)
    reporting = Reporting(registry, "cpu-1", WorkerRole.CPU)
    is_broken, calls = threading.Event(), list[float]()

    def call() -> None:
        if is_broken.is_set():
            raise AttributeError("killed by the test")
        calls.append(time.monotonic())

    def said() -> tuple[str, ...]:
        reporting.report_now()
        (worker,) = registry.list()
        return worker.report.tasks_down

    periodic = Periodic("a-chore", 0.01, call)
    periodic.start()
    try:
        until(lambda: bool(calls))
        assert said() == ()
        is_broken.set()
        until(lambda: said() == ("a-chore",))
        until(lambda: down("a-chore") == 1)
        is_broken.clear()
        calls.clear()
        until(lambda: bool(calls) and said() == ())
        assert down("a-chore") == 0
    finally:
        periodic.close()

    assert "AttributeError: killed by the test" in caplog.text
    assert "a background task ended unexpectedly" in caplog.text


def test_the_chores_of_a_janitor_come_back(caplog: pytest.LogCaptureFixture) -> None:
    stop, is_broken, runs = threading.Event(), threading.Event(), list[float]()

    def removed() -> None:
        runs.append(time.monotonic())

    def may_work() -> bool:
        if is_broken.is_set():
            raise AttributeError("killed by the test")
        return True

    thread = watched_thread("removals", partial(run_chores, [Chore(0.0, removed)], may_work, stop), stop)
    thread.start()
    until(lambda: bool(runs))
    is_broken.set()
    until(lambda: tasks_down() == ("removals",))
    is_broken.clear()
    runs.clear()
    until(lambda: bool(runs) and tasks_down() == ())
    stop.set()
    thread.join(PATIENCE_S)

    assert not thread.is_alive()
    assert "AttributeError: killed by the test" in caplog.text
