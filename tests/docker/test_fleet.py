"""The simulation of a fleet against the arithmetic, and against what a queue must do."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.queue.fleet import BUSY, MEASURED, demand
from benchmarks.queue.fleet_model import Clock, Engine, Fleet, Servers, Simulation, shares, size


@given(st.floats(1_000, 5_000_000), st.sampled_from([1, 30, 300]))
@settings(max_examples=100, deadline=None)
def test_no_part_of_a_sized_fleet_is_busier_than_allowed_and_none_can_be_spared(hourly: float, per_job: int) -> None:
    wanted = demand(hourly, per_job)

    fleet = size(wanted, MEASURED, BUSY)

    part = shares(fleet, wanted, MEASURED)
    assert max(part.api, part.cpu, part.worker, part.gpu) <= BUSY + 1e-9
    for smaller in (
        Fleet(fleet.api_replicas - 1, fleet.cpu_cores, fleet.gpus),
        Fleet(fleet.api_replicas, fleet.cpu_cores - 1, fleet.gpus),
        Fleet(fleet.api_replicas, fleet.cpu_cores, fleet.gpus - 1),
    ):
        if min(smaller.api_replicas, smaller.cpu_cores, smaller.gpus) > 0:
            without = shares(smaller, wanted, MEASURED)
            assert max(without.api, without.cpu, without.worker, without.gpu) > BUSY


def test_a_million_clips_an_hour_are_spoken_as_the_arithmetic_says() -> None:
    wanted = demand(1_000_000, 1)
    fleet = size(wanted, MEASURED, BUSY)

    outcome = Simulation(fleet, wanted, MEASURED, seed=1).run(60)

    part = shares(fleet, wanted, MEASURED)
    assert outcome.segments_per_hour == pytest.approx(1_000_000, rel=0.05)
    assert outcome.redis_share == pytest.approx(part.redis, rel=0.05)
    assert outcome.gpu_share == pytest.approx(part.gpu, rel=0.05)
    assert outcome.wait_p99_s < 1


def test_half_the_gpus_speak_what_they_can_and_the_rest_waits() -> None:
    wanted = demand(1_000_000, 1)
    fleet = size(wanted, MEASURED, BUSY)

    outcome = Simulation(Fleet(fleet.api_replicas, fleet.cpu_cores, 1), wanted, MEASURED, seed=1).run(60)

    assert outcome.audio_s_per_s == pytest.approx(MEASURED.pace(MEASURED.slots), rel=0.05)
    assert outcome.most_waiting > 1_000


def test_streams_share_an_engines_pace() -> None:
    clock = Clock()
    engine = Engine(clock, MEASURED)
    ends: dict[str, float] = {}

    def end(name: str) -> None:
        ends[name] = clock.now_s

    alone = MEASURED.pace(1)
    engine.speak(alone, lambda: end("first"))
    clock.run(0.5)
    engine.speak(1000.0, lambda: end("second"))
    clock.run(1e9)

    # Half a second alone; the other half of its audio at the pace of one of two.
    assert ends["first"] == pytest.approx(0.5 + alone / 2 / (MEASURED.pace(2) / 2))
    assert ends["second"] > ends["first"]
    assert engine.spoken_s == pytest.approx(1000 + alone)


def test_servers_take_the_next_in_line() -> None:
    clock = Clock()
    servers = Servers(clock, 2)
    ends: list[float] = []

    for _ in range(3):
        servers.serve(1.0, lambda: ends.append(clock.now_s))
    clock.run(10)

    assert ends == [1.0, 1.0, 2.0]
    assert servers.busy_s == 3.0
