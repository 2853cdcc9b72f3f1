"""A plan is read once while it is in use, and forgotten when others need the room."""

from __future__ import annotations

import threading

import pytest

from reading.plan.plan import Plan, PlanFormatError, PlanSegment, encode_plan
from storage.errors import ArtifactMissing
from storage.job_store.plan_cache import DECODED_FACTOR, PlanCache
from tests.threads import BoundedExecutor
from tests.worker.studio import Studio

PLAN = Plan((PlanSegment(0, 0, 5, "Hello", 0.0),))
DATA = encode_plan(PLAN)


def test_a_plan_is_read_once_by_many_threads(studio: Studio) -> None:
    studio.artifacts.put("jobs/t/a/plan-1.jsonl", DATA)
    cache = PlanCache(studio.artifacts)
    together = threading.Barrier(8)

    def look_up() -> object:
        together.wait(30)
        return cache.get("jobs/t/a/plan-1.jsonl")

    with BoundedExecutor(8) as pool:
        plans = [each.result(30) for each in [pool.submit(look_up) for _ in range(8)]]

    assert all(plan is plans[0] for plan in plans)
    assert plans[0] == PLAN
    assert cache.hits + cache.misses == 8


def test_the_least_recently_used_plan_makes_room(studio: Studio) -> None:
    names = [f"jobs/t/{letter}/plan-1.jsonl" for letter in "abc"]
    for name in names:
        studio.artifacts.put(name, DATA)
    cache = PlanCache(studio.artifacts, max_bytes=2 * DECODED_FACTOR * len(DATA))

    for name in (names[0], names[1], names[0], names[2], names[0], names[1]):
        cache.get(name)

    assert (cache.hits, cache.misses) == (2, 4)


def test_a_failure_is_reported_to_all_and_not_remembered(studio: Studio) -> None:
    cache = PlanCache(studio.artifacts)
    with pytest.raises(ArtifactMissing):
        cache.get("jobs/t/a/plan-1.jsonl")

    studio.artifacts.put("jobs/t/a/plan-1.jsonl", DATA)

    assert cache.get("jobs/t/a/plan-1.jsonl") == PLAN


def test_a_damaged_plan_is_refused(studio: Studio) -> None:
    studio.artifacts.put("jobs/t/a/plan-1.jsonl", b"not a plan")

    with pytest.raises(PlanFormatError):
        PlanCache(studio.artifacts).get("jobs/t/a/plan-1.jsonl")
