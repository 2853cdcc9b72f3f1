"""Waiting for a thread ends within a limit, and says which thread it was."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future

import pytest

from tests import threads
from tests.threads import BoundedExecutor, join_in_time


@pytest.fixture
def release(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """What a thread waits for that does not end by itself."""
    monkeypatch.setattr(threads, "LIMIT_S", 0.1)
    monkeypatch.setattr(threads, "LIMIT_AFTER_FAILURE_S", 0.1)
    event = threading.Event()
    yield event
    event.set()


def test_an_executor_waits_for_its_threads() -> None:
    with BoundedExecutor(2) as executor:
        squares = [executor.submit(pow, number, 2) for number in range(8)]

    assert [square.result(0) for square in squares] == [0, 1, 4, 9, 16, 25, 36, 49]


def test_an_executor_whose_thread_does_not_end_fails(release: threading.Event) -> None:
    with pytest.raises(AssertionError, match="not ended: slow_0"), BoundedExecutor(1, "slow") as executor:
        executor.submit(release.wait)


def test_a_failure_in_the_block_stays_the_failure_and_cancels_what_waits(release: threading.Event) -> None:
    waiting: list[Future[bool]] = []

    def fail_beside_a_slow_thread() -> None:
        with BoundedExecutor(1, "slow") as executor:
            waiting.extend(executor.submit(release.wait) for _ in range(2))
            raise ValueError("the failure")

    with pytest.raises(ValueError, match="the failure") as failure:
        fail_beside_a_slow_thread()

    assert failure.value.__notes__ == ["these threads have not ended: slow_0"]
    assert [future.cancelled() for future in waiting] == [False, True]


def test_a_thread_that_does_not_end_fails(release: threading.Event) -> None:
    thread = threading.Thread(target=release.wait, name="slow")
    thread.start()

    with pytest.raises(AssertionError, match="not ended: slow"):
        join_in_time(thread)


def test_after_a_failure_a_thread_that_does_not_end_is_a_note(release: threading.Event) -> None:
    thread = threading.Thread(target=release.wait, name="slow")
    thread.start()

    def fail_beside_it() -> None:
        try:
            raise ValueError("the failure")
        finally:
            join_in_time(thread)

    with pytest.raises(ValueError, match="the failure") as failure:
        fail_beside_it()

    assert failure.value.__notes__ == ["these threads have not ended: slow"]
