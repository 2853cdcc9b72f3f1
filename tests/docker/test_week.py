"""The week of `benchmarks/queue/week.py`, a small one: a dead zone, an upgrade and a rush, and nothing is lost."""

from __future__ import annotations

import pytest
import redis

from benchmarks.queue.week import BOOK_SEGMENTS, HOUR_S, RUSHING, TENANTS, WEEK_S, Week, demand_at


@pytest.mark.timeout(900)
def test_a_week_loses_nothing_and_every_tenant_is_served(redis_client: redis.Redis) -> None:
    week = Week(redis_client, gpus=3, segments=700, seed=1, slots=1)

    week.run()

    seen = week.seen
    spoken = sum(segments for _, _, segments in seen.accepted.values())
    assert not week.lost()
    assert not week.differences()
    assert spoken > 400
    assert seen.commits == spoken
    # What was claimed again had been handed back, or its worker was lost with it.
    assert spoken <= seen.claims <= spoken + seen.expired + seen.handed_back
    assert seen.handed_back + seen.expired > 0
    served = {tenant for tenant, _ in seen.waits_s}
    assert served == {*TENANTS, RUSHING}
    assert len(seen.backlog) == 7 * 12
    assert len(seen.waits_s[RUSHING, BOOK_SEGMENTS]) >= 1


def test_nights_and_weekends_have_less_to_do() -> None:
    by_hour = [demand_at(hour * HOUR_S) for hour in range(7 * 24)]

    assert max(by_hour) == by_hour[15] == 1.0
    assert min(by_hour[:24]) == pytest.approx(0.25)
    assert max(by_hour[5 * 24 :]) == pytest.approx(0.6)
    assert len(by_hour) * HOUR_S == WEEK_S
