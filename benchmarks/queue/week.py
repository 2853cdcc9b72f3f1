"""A week of a fleet on the real functions: day and night, a dead zone, a rolling upgrade, one tenant's rush.

    python -m benchmarks.queue.week [--segments 24000] [--gpus 12]

A Valkey of its own runs the library of functions as every system does; what is played is the clock, which the calls
bring along, and the workers, who claim, keep, commit and die in it. A week of a real fleet has 10⁹ segments, so time is
stretched: a segment takes ten minutes, and what the queue counts in seconds (leases, rounds of the janitor) is as many
times longer as that is than ten seconds. Waits are told in lengths of a segment, which is what they are made of.

GPUs stand in three zones. On Wednesday at 14 h one zone is dead for three hours: nobody says goodbye, and leases run
out. On Friday from 10 h every worker is replaced, one after the other, and hands back what it holds. On Tuesday at 20 h
one tenant hands in as much as an hour of the whole fleet. Then everything that was accepted is looked up again, and
every counter counted.
"""

from __future__ import annotations

import argparse
import hashlib
import heapq
import math
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import redis

from rhapsode.bench.statistics import percentile
from rhapsode.contract.jobs.narration import Narration
from rhapsode.contract.jobs.states import JobState, Priority
from storage.database.embedded_valkey import EmbeddedRedis
from storage.errors import LeaseLost
from storage.ids import JobId, TenantId, new_job_id
from storage.job_store.leases import Look
from storage.job_store.store import JobStore
from storage.jobs.record import ArtifactRecord
from storage.jobs.submissions import Submission
from storage.jobs.tickets import Tickets
from storage.jobs.work_items import ClaimedItem, LeaseStatus, PlanResult, ReleaseReason, WorkerIdentity
from storage.jobs.work_queues import CPU_QUEUE, speech_queue
from storage.narration.spec import NarrationSpec
from storage.segments.results import SegmentReport
from tests.run_guard import guarded_run
from worker.items.gpu_ticket import MOST_CLAIMED

HOUR_S = 3600.0
WEEK_S = 7 * 24 * HOUR_S
SEGMENT_S = 600.0
STRETCH = SEGMENT_S / 10
LEASE_S = 30 * STRETCH
SWEEP_S = 10 * STRETCH
SLOTS = 8
SEGMENT_AUDIO_MS = 9_000
BOOK_SEGMENTS = 40
BOOKS_SHARE = 0.7
"""Of all segments; the others are clips, jobs of one segment."""

PEAK_SHARE = 0.85
"""Of what the fleet can speak, in the busiest hour of a weekday."""

ZONES = "abc"
DEAD_ZONE, DEAD_FROM_S, DEAD_FOR_S = "c", (2 * 24 + 14) * HOUR_S, 3 * HOUR_S
UPGRADE_FROM_S, AWAY_S = (4 * 24 + 10) * HOUR_S, SEGMENT_S
RUSH_S, RUSHING = (24 + 20) * HOUR_S, TenantId("rush")
TENANTS = tuple(TenantId(f"tenant-{number}") for number in range(6))
MODEL = "small"
GPU_QUEUE = speech_queue(MODEL)
CPU_WORKER = WorkerIdentity("cpu", "1")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
CURVE_S = 2 * HOUR_S


class Clock:
    """Unix milliseconds of the played time."""

    now_s = 0.0

    def __call__(self) -> int:
        return 1_800_000_000_000 + round(self.now_s * 1000)


@dataclass
class Worker:
    """is_awake: looks for items by itself, as it has room or had lately."""

    zone: str
    identity: WorkerIdentity
    slots: int
    boots: int = 1
    is_there: bool = True
    is_awake: bool = False
    held: dict[int, ClaimedItem] = field(default_factory=dict[int, ClaimedItem])

    @property
    def room(self) -> int:
        return min(MOST_CLAIMED, self.slots - len(self.held))


@dataclass
class Seen:
    """waits_s: from the submit to the first segment's claim, by tenant and number of segments."""

    accepted: dict[JobId, tuple[TenantId, float, int]] = field(default_factory=dict[JobId, tuple[TenantId, float, int]])
    waits_s: dict[tuple[TenantId, int], list[float]] = field(
        default_factory=lambda: defaultdict[tuple[TenantId, int], list[float]](list)
    )
    backlog: list[tuple[float, int]] = field(default_factory=list[tuple[float, int]])
    claims: int = 0
    commits: int = 0
    refused: int = 0
    expired: int = 0
    handed_back: int = 0


def demand_at(time_s: float) -> float:
    """Of the busiest hour: a day's curve, highest at 15 h and a quarter of that at night, and less at the weekend."""
    hour, is_weekend = time_s / HOUR_S % 24, time_s >= 5 * 24 * HOUR_S
    height = 0.625 + 0.375 * math.cos((hour - 15) / 24 * 2 * math.pi)
    return height * (0.6 if is_weekend else 1.0)


class Week:
    """Played once, by `run`. slots: of a GPU."""

    def __init__(self, client: redis.Redis, gpus: int, segments: int, seed: int, slots: int = SLOTS) -> None:
        self._clock = Clock()
        self._store = JobStore(client, clock=self._clock)
        self._dice = random.Random(seed)
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._number = 0
        self._tickets = 0
        self.seen = Seen()
        self.workers = [
            Worker(ZONES[number % len(ZONES)], WorkerIdentity(f"gpu-{number}", "1"), slots) for number in range(gpus)
        ]
        hours = sum(demand_at(hour * HOUR_S) for hour in range(7 * 24))
        self._peak_per_s = segments / hours / HOUR_S
        self._rush_books = max(1, round(self._peak_per_s * HOUR_S / BOOK_SEGMENTS))

    def run(self) -> None:
        self._plan()
        told_s, began_s = time.monotonic(), time.monotonic()
        while self._events:
            at_s, _, event = heapq.heappop(self._events)
            self._clock.now_s = at_s
            event()
            if time.monotonic() - told_s > 5:
                told_s = time.monotonic()
                print(
                    f"{_when(at_s)}: {len(self.seen.accepted):,} jobs, {self.seen.commits:,} segments, "
                    f"{self._ready():,} wait ({told_s - began_s:.0f} s)",
                    file=sys.stderr,
                    flush=True,
                )

    def lost(self) -> Counter[str]:
        """What was accepted and has not succeeded, by what it is instead."""
        by_tenant: dict[TenantId, list[JobId]] = defaultdict(list)
        for job, (tenant, _, _) in self.seen.accepted.items():
            by_tenant[tenant].append(job)
        states: Counter[str] = Counter()
        for tenant, ids in by_tenant.items():
            for start in range(0, len(ids), 500):
                for record in self._store.get_many(tenant, ids[start : start + 500]):
                    if record is None or record.state is not JobState.SUCCEEDED:
                        states["gone" if record is None else record.state.value] += 1
        return states

    def differences(self) -> Sequence[object]:
        """Of the counters from an audit."""
        return self._store.audit_counters().differences

    # ------------------------------------------------------------------------------------------ the plan of the week

    def _at(self, time_s: float, event: Callable[[], None]) -> None:
        self._number += 1
        heapq.heappush(self._events, (time_s, self._number, event))

    def _plan(self) -> None:
        for worker in self.workers:
            self._send(self._store.look_away(GPU_QUEUE, worker.identity))
        self._next_arrival()
        self._at(RUSH_S, self._rush)
        self._at(DEAD_FROM_S, self._lose_zone)
        for place, worker in enumerate(self.workers):
            self._at(UPGRADE_FROM_S + place * AWAY_S, lambda worker=worker: self._upgrade(worker))
        self._at(SWEEP_S, self._sweep)
        self._at(0.0, self._draw_curve)

    def _next_arrival(self) -> None:
        """Of a stream of the peak's rate, of which as many are taken as the hour has."""
        mean = BOOKS_SHARE / BOOK_SEGMENTS + (1 - BOOKS_SHARE)
        time_s = self._clock.now_s
        while True:
            time_s += self._dice.expovariate(self._peak_per_s * mean)
            if time_s >= WEEK_S:
                return
            if self._dice.random() < demand_at(time_s):
                break
        self._at(time_s, self._arrive)

    def _arrive(self) -> None:
        is_book = self._dice.random() < BOOKS_SHARE / (BOOKS_SHARE + (1 - BOOKS_SHARE) * BOOK_SEGMENTS)
        self._submit(self._dice.choice(TENANTS), BOOK_SEGMENTS if is_book else 1)
        self._next_arrival()

    def _rush(self) -> None:
        for _ in range(self._rush_books):
            self._submit(RUSHING, BOOK_SEGMENTS)

    def _lose_zone(self) -> None:
        for worker in self.workers:
            if worker.zone == DEAD_ZONE:
                worker.is_there = worker.is_awake = False
                worker.held.clear()
                self._at(self._clock.now_s + DEAD_FOR_S, lambda worker=worker: self._come(worker))

    def _upgrade(self, worker: Worker) -> None:
        held, worker.held = list(worker.held.values()), {}
        worker.is_there = worker.is_awake = False
        for item in held:
            self.seen.handed_back += 1
            self._send(self._store.release(item.lease, ReleaseReason.SHUTDOWN))
        self._send(self._store.look_away(GPU_QUEUE, worker.identity))
        self._at(self._clock.now_s + AWAY_S, lambda: self._come(worker))

    def _come(self, worker: Worker) -> None:
        worker.boots += 1
        worker.identity = WorkerIdentity(worker.identity.name, str(worker.boots))
        worker.is_there = True
        self._send(self._store.release_worker(worker.identity))
        self._send(self._store.look_away(GPU_QUEUE, worker.identity))

    # ------------------------------------------------------------------------------------------ the system

    def _submit(self, tenant: TenantId, segments: int) -> None:
        job = new_job_id()
        audio_ms = segments * SEGMENT_AUDIO_MS
        submission = Submission(
            id=job,
            tenant=tenant,
            spec=NarrationSpec(Narration(model=MODEL, voice="alice")),
            priority=Priority.NORMAL,
            input_key=f"jobs/{tenant}/{job}/input.txt",
            input_chars=audio_ms // 60,
            estimated_audio_ms=audio_ms,
            retention_s=30 * 24 * 3600,
        )
        made = self._store.submit(submission)
        self.seen.accepted[job] = (tenant, self._clock.now_s, segments)
        self._send(made.tickets)

    def _send(self, tickets: Tickets) -> None:
        """Those of the CPU lane are answered at once: planning and joining are no part of what is played."""
        self._tickets += tickets.by_queue.get(GPU_QUEUE, 0)
        while (item := self._cpu_item(tickets)) is not None:
            lease = item.lease
            tenant, _, segments = self.seen.accepted[lease.job]
            if lease.item == "plan":
                tickets = self._store.commit_plan(
                    lease, PlanResult(f"plan-{lease.fence}", segments, segments * SEGMENT_AUDIO_MS)
                )
            else:
                wav = ArtifactRecord(
                    "narration.wav", "audio/wav", f"jobs/{tenant}/{lease.job}/{lease.fence}", 1, "0" * 64
                )
                tickets = self._store.finish(lease, [wav]).tickets
            self._tickets += tickets.by_queue.get(GPU_QUEUE, 0)
        self._wake()

    def _cpu_item(self, tickets: Tickets) -> ClaimedItem | None:
        if not tickets.by_queue.get(CPU_QUEUE):
            return None
        return self._store.claim(CPU_QUEUE, CPU_WORKER, LEASE_S).item

    def _wake(self) -> None:
        """A ticket goes to a worker that waits for one."""
        while self._tickets:
            idle = [worker for worker in self.workers if worker.is_there and not worker.is_awake and worker.room]
            if not idle:
                return
            self._tickets -= 1
            worker = self._dice.choice(idle)
            worker.is_awake = True
            self._look(worker, is_woken=True)

    def _look(self, worker: Worker, *, is_woken: bool = False) -> None:
        while worker.room:
            look = Look(GPU_QUEUE, worker.room, is_woken, is_last=True)
            claims = self._store.claim_several(look, worker.identity, LEASE_S)
            is_woken = False
            self._tickets += claims.tickets.by_queue.get(GPU_QUEUE, 0)
            if not claims.items:
                worker.is_awake = False
                return
            for item in claims.items:
                self._begin(worker, item)

    def _begin(self, worker: Worker, item: ClaimedItem) -> None:
        self.seen.claims += 1
        lease = item.lease
        worker.held[lease.fence] = item
        tenant, submitted_s, segments = self.seen.accepted[lease.job]
        if lease.item == "0":
            self.seen.waits_s[tenant, segments].append(self._clock.now_s - submitted_s)
        takes_s = SEGMENT_S * self._dice.uniform(0.7, 1.3)
        boot = worker.identity.boot_id
        self._at(self._clock.now_s + takes_s, lambda: self._end(worker, boot, item))

    def _end(self, worker: Worker, boot: str, item: ClaimedItem) -> None:
        """What is left of an item that its worker did not live to end is a lease."""
        if worker.identity.boot_id != boot or worker.held.pop(item.lease.fence, None) is None:
            return
        digest = hashlib.sha256(item.lease.item.encode()).hexdigest()
        report = SegmentReport(SEGMENT_AUDIO_MS * 24, 24_000, 113, digest, "eos", 900)
        try:
            tickets = self._store.commit_segment(item.lease, report)
            self.seen.commits += 1
        except LeaseLost:
            self.seen.refused += 1
            tickets = Tickets()
        self._send(tickets)
        if worker.is_awake:
            self._look(worker)
            self._wake()

    def _sweep(self) -> None:
        """The janitor's round, and the lease keepers'."""
        for worker in self.workers:
            if worker.held:
                items = list(worker.held.values())
                for item, status in zip(
                    items, self._store.extend([each.lease for each in items], LEASE_S), strict=True
                ):
                    if status is not LeaseStatus.HELD:
                        del worker.held[item.lease.fence]
        report = self._store.reap(1_000)
        self.seen.expired += report.leases_expired
        wanted = self._store.wanted_tickets()
        self._tickets = max(self._tickets, wanted.get(GPU_QUEUE, 0))
        self._send(Tickets({CPU_QUEUE: wanted[CPU_QUEUE]}) if wanted.get(CPU_QUEUE) else Tickets())
        has_work = any(worker.held for worker in self.workers) or self._ready() > 0
        if self._clock.now_s < WEEK_S or has_work:
            self._at(self._clock.now_s + SWEEP_S, self._sweep)

    def _draw_curve(self) -> None:
        self.seen.backlog.append((self._clock.now_s, self._ready()))
        if self._clock.now_s + CURVE_S < WEEK_S:
            self._at(self._clock.now_s + CURVE_S, self._draw_curve)

    def _ready(self) -> int:
        """Segments that are accepted and not spoken, whether they are in their job's window or not."""
        return sum(segments for _, _, segments in self.seen.accepted.values()) - self.seen.commits


def _when(time_s: float) -> str:
    day = int(time_s // (24 * HOUR_S))
    return f"{DAYS[day] if day < len(DAYS) else 'after the week'} {time_s / HOUR_S % 24:04.1f} h"


def print_backlog(seen: Seen) -> None:
    print("\nsegments that wait or are spoken, every two hours from midnight\n")
    for day, name in enumerate(DAYS):
        of_day = [number for at_s, number in seen.backlog if day <= at_s / HOUR_S / 24 < day + 1]
        print(f"{name:<10}" + "".join(f"{number:>7,}" for number in of_day))


def print_waits(seen: Seen) -> None:
    print("\nfrom the submit to the first segment's start, in lengths of a segment: median, 95 %, longest\n")
    for (tenant, segments), waits_s in sorted(seen.waits_s.items(), key=lambda row: (row[0][1], row[0][0])):
        told_s = (percentile(waits_s, 0.5), percentile(waits_s, 0.95), max(waits_s))
        kind = "clips" if segments == 1 else "books"
        cells = " ".join(f"{value / SEGMENT_S:>8.2f}" for value in told_s)
        print(f"{tenant:<10} {len(waits_s):>6,} {kind} {cells}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--segments", type=int, default=24_000, help="of the week, without the rush (24,000)")
    parser.add_argument("--gpus", type=int, default=0, help="in three zones; as many as the busiest hour needs")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    gpus = options.gpus or gpus_for(options.segments)
    began_s = time.monotonic()
    with (
        guarded_run() as folder,
        EmbeddedRedis(folder / "valkey") as server,
        redis.Redis.from_url(server.url, decode_responses=True) as client,
    ):
        week = Week(client, gpus, options.segments, options.seed)
        week.run()
        lost, differences = week.lost(), week.differences()
        calls = client.info("commandstats")["cmdstat_fcall"]
    seen = week.seen
    spoken = sum(segments for _, _, segments in seen.accepted.values())
    print(f"\n{gpus} GPUs of {SLOTS} slots in three zones, {time.monotonic() - began_s:.0f} s")
    print(f"{calls['calls']:,} calls of functions")
    print(f"{len(seen.accepted):,} jobs accepted, {spoken:,} segments")
    print(f"not succeeded: {dict(lost) or 0}; counters that differ from an audit: {len(differences)}")
    print(
        f"claims beyond one a segment: {seen.claims - spoken:,} ({seen.expired} leases ran out, "
        f"{seen.handed_back} were handed back); late results refused: {seen.refused}"
    )
    print_backlog(seen)
    print_waits(seen)
    if lost or differences:
        sys.exit("something was lost")


def gpus_for(segments: int) -> int:
    """Whose slots are busy to `PEAK_SHARE` in the busiest hour."""
    hours = sum(demand_at(hour * HOUR_S) for hour in range(7 * 24))
    peak_per_s = segments / hours / HOUR_S
    return max(len(ZONES), math.ceil(peak_per_s * SEGMENT_S / SLOTS / PEAK_SHARE))


if __name__ == "__main__":
    main()
