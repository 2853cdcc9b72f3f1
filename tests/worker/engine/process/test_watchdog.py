"""What counts as hung, and how starts are spaced."""

from __future__ import annotations

from dataclasses import replace

from worker.engine.interface import EngineStats
from worker.engine.process.host_process import Watchdog


def _stats(steps: int, active: int = 1, waiting: int = 0) -> EngineStats:
    return EngineStats(steps=steps, frames=0, active=active, waiting=waiting, finished=0)


def _watch(patience_s: float, heartbeats: dict[int, EngineStats], until_s: int) -> tuple[int, str] | None:
    """Ask every second; the first verdict and its time."""
    watchdog = Watchdog(patience_s, now_s=0)
    for now_s in range(until_s):
        if now_s in heartbeats:
            watchdog.heard(heartbeats[now_s], now_s)
        if (verdict := watchdog.verdict(now_s)) is not None:
            return now_s, verdict
    return None


def test_growing_steps_are_life() -> None:
    assert _watch(10, {s: _stats(steps=s) for s in range(100)}, until_s=100) is None


def test_growing_beats_are_life() -> None:
    assert _watch(10, {s: replace(_stats(steps=3), beats=s) for s in range(100)}, until_s=100) is None


def test_silence_is_a_hang() -> None:
    assert _watch(10, {s: _stats(steps=s) for s in range(5)}, until_s=100) == (15, "no heartbeat for 11.0 s")


def test_heartbeats_without_steps_are_a_hang_while_there_is_work() -> None:
    verdict = _watch(10, {s: _stats(steps=min(s, 3)) for s in range(100)}, until_s=100)

    assert verdict == (14, "no step for 11.0 s with 1 requests in the engine")


def test_work_that_is_never_admitted_is_a_hang() -> None:
    assert _watch(10, {s: _stats(steps=3, active=0, waiting=2) for s in range(100)}, until_s=100) is not None


def test_an_idle_engine_may_rest() -> None:
    assert _watch(10, {s: _stats(steps=3, active=0) for s in range(100)}, until_s=100) is None


def test_the_first_work_after_a_rest_gets_the_whole_patience() -> None:
    idle = {s: _stats(steps=3, active=0) for s in range(50)}

    assert _watch(10, {**idle, 50: _stats(steps=3), 55: _stats(steps=4), 56: _stats(steps=5)}, until_s=60) is None


def test_a_worker_that_was_stopped_itself_does_not_blame_the_engine() -> None:
    watchdog = Watchdog(10, now_s=0)
    watchdog.heard(_stats(steps=1), now_s=1)
    watchdog.verdict(1)

    assert watchdog.verdict(60) is None
    assert watchdog.verdict(65) is None
    assert watchdog.verdict(69) is None
    assert watchdog.verdict(71) is not None


def test_one_who_waits_for_its_text_is_not_hung() -> None:
    standing = EngineStats(steps=3, frames=0, active=1, waiting=1, finished=0, standing=1)

    assert _watch(10, dict.fromkeys(range(100), standing), until_s=100) is None


def test_those_beside_it_that_speak_can_hang() -> None:
    standing = EngineStats(steps=3, frames=0, active=2, waiting=0, finished=0, standing=1)

    assert _watch(10, dict.fromkeys(range(100), standing), until_s=100) is not None
