"""Background work is started again after any end that nobody asked for, and is known to be down meanwhile."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable

import pytest

from storage.runtime import watched
from storage.runtime.observability.metrics import REGISTRY
from storage.runtime.watched import tasks_down, watched_task, watched_thread

PATIENCE_S = 60.0
NAME = "a-task-of-a-test"


def failures() -> float:
    return REGISTRY.get_sample_value("rhapsode_background_task_failures_total", {"task": NAME}) or 0.0


def down() -> float | None:
    return REGISTRY.get_sample_value("rhapsode_background_tasks_down", {"task": NAME})


def until(is_so: Callable[[], bool]) -> None:
    give_up_s = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < give_up_s
        time.sleep(0.005)


async def until_later(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not is_so():
            await asyncio.sleep(0.005)


async def raises() -> None:
    raise AttributeError("unforeseen")


async def returns() -> None:
    pass


async def waits_for_what_is_cancelled() -> None:
    other = asyncio.get_running_loop().create_future()
    other.cancel()
    await other


@pytest.mark.parametrize("end", [raises, returns, waits_for_what_is_cancelled])
def test_a_task_is_started_again_after_each_end(
    end: Callable[[], Awaitable[None]], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watched, "RESTART_PAUSE_S", 0.2)
    before, starts = failures(), [end, end]

    async def run() -> None:
        if starts:
            await starts.pop()()
        else:
            await asyncio.Event().wait()

    async def story() -> None:
        task = watched_task(NAME, run)
        await until_later(lambda: NAME in tasks_down())
        assert down() == 1
        await until_later(lambda: not starts and NAME not in tasks_down())
        assert down() == 0
        task.cancel()
        await asyncio.wait((task,), timeout=PATIENCE_S)
        assert task.cancelled()

    asyncio.run(story())

    ends = [record for record in caplog.records if record.message == "a background task ended unexpectedly"]
    assert [record.__dict__["task"] for record in ends] == [NAME, NAME]
    assert failures() - before == 2
    if end is raises:
        assert "AttributeError: unforeseen" in caplog.text


def test_a_task_that_is_cancelled_while_it_is_down_is_down_no_more() -> None:
    async def story() -> None:
        task = watched_task(NAME, raises)
        await until_later(lambda: NAME in tasks_down())
        task.cancel()
        await asyncio.wait((task,), timeout=PATIENCE_S)
        assert task.cancelled()

    asyncio.run(story())

    assert (tasks_down(), down()) == ((), 0)


def test_an_error_in_place_of_a_cancellation_ends_the_task() -> None:
    async def run() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise OSError("it was closed")

    async def story() -> None:
        task = watched_task(NAME, run)
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait((task,), timeout=PATIENCE_S)
        assert task.done()

    asyncio.run(story())


@pytest.mark.parametrize("error", [AttributeError("unforeseen"), SystemExit(1), None])
def test_a_thread_is_started_again_after_each_end(
    error: BaseException | None, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watched, "RESTART_PAUSE_S", 0.2)
    stop, ends = threading.Event(), [error, error]

    def run() -> None:
        if not ends:
            stop.wait()
        elif (end := ends.pop()) is not None:
            raise end

    thread = watched_thread(NAME, run, stop)
    thread.start()
    until(lambda: NAME in tasks_down())
    assert down() == 1
    until(lambda: not ends and NAME not in tasks_down())
    assert thread.is_alive()
    stop.set()
    thread.join(PATIENCE_S)

    assert not thread.is_alive()
    assert caplog.text.count("a background task ended unexpectedly") == 2
    assert down() == 0


def test_a_thread_that_is_stopped_while_it_is_down_runs_once_more_and_ends() -> None:
    stop, runs = threading.Event(), list[bool]()

    def run() -> None:
        runs.append(stop.is_set())
        raise AttributeError("unforeseen")

    thread = watched_thread(NAME, run, stop)
    thread.start()
    until(lambda: NAME in tasks_down())
    stop.set()
    thread.join(PATIENCE_S)

    assert not thread.is_alive()
    assert runs[-1]
    assert tasks_down() == ()
