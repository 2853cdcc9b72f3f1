"""The simulation of a fleet against the arithmetic, and against what a queue must do."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.queue.fleet import BUSY, LIMITS, MEASURED, WORK, demand
from benchmarks.queue.fleet_day import Prices, in_order_of_breaking, parts_of
from benchmarks.queue.fleet_model import Clock, Engine, Fleet, Servers, Simulation, shares, size
from tests.property_tests import examples


@given(st.floats(1_000, 5_000_000), st.sampled_from([1, 30, 300]))
@settings(max_examples=examples(100), deadline=None)
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


def parts_by_name(hours_a_day: float, number: int) -> dict[str, float]:
    parts = parts_of(hours_a_day, WORK[number], MEASURED, LIMITS, Prices())
    return {part.name: part.needed for part in parts}


@given(st.floats(1_000, 10_000_000), st.sampled_from([0, 1]))
@settings(max_examples=examples(50), deadline=None)
def test_what_a_day_takes_grows_with_its_hours_and_one_of_a_part_is_full_where_it_says(
    hours: float, number: int
) -> None:
    once, twice = parts_by_name(hours, number), parts_by_name(2 * hours, number)
    parts = parts_of(hours, WORK[number], MEASURED, LIMITS, Prices())

    assert {name: 2 * needed for name, needed in once.items()} == pytest.approx(twice)
    for part in in_order_of_breaking(parts):
        assert part.breaks_at is not None
        full = parts_by_name(part.breaks_at, number)[part.name]
        assert full == pytest.approx(BUSY) or full == pytest.approx(1.0)


def test_clips_meet_the_limits_of_one_system_sooner_than_books() -> None:
    books, clips = (parts_of(1_000_000, work, MEASURED, LIMITS, Prices()) for work in WORK)

    assert in_order_of_breaking(books)[0].name.startswith("Valkey")
    assert [part.name.split()[0] for part in in_order_of_breaking(clips)][:3] == ["API", "Valkey", "prefixes"]
    # A real second of speech takes the same of a GPU, whoever asks for it.
    assert books[0] == clips[0]
    assert books[0].needed == pytest.approx(1_000_000 / 24 / MEASURED.pace(256))
