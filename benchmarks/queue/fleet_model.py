"""A fleet as queues and servers: what was measured of one part, how many a demand takes, and a simulation of them.

Knows nothing of the system itself: `fleet.py` prints its tables, and says where each figure was taken.
"""

from __future__ import annotations

import heapq
import math
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from rhapsode.bench.statistics import percentile


@dataclass(frozen=True, slots=True)
class Measured:
    """One part's cost or pace, as the other benchmarks of this folder print it.

    engine_pace: (streams, audio seconds per second) of one GPU, rising.
    """

    api_submit_s: float
    redis_submit_s: float
    redis_segment_s: float
    plan_chars_per_s: float
    worker_segment_s: float
    encode_audio_per_core_s: float
    engine_pace: tuple[tuple[int, float], ...]
    redis_segment_bytes: float
    redis_job_bytes: float

    def pace(self, streams: int) -> float:
        """Of one GPU with so many streams; between two measured points on the straight line through them."""
        before = (0, 0.0)
        for point in self.engine_pace:
            if streams <= point[0]:
                share = (streams - before[0]) / (point[0] - before[0])
                return before[1] + share * (point[1] - before[1])
            before = point
        return before[1]

    @property
    def slots(self) -> int:
        return self.engine_pace[-1][0]


@dataclass(frozen=True, slots=True)
class Demand:
    """segments_per_job: 1 is a clip, some hundreds are a book."""

    segments_per_hour: float
    segments_per_job: int
    audio_s_per_segment: float
    chars_per_segment: int

    @property
    def segments_per_s(self) -> float:
        return self.segments_per_hour / 3600

    @property
    def jobs_per_s(self) -> float:
        return self.segments_per_s / self.segments_per_job


@dataclass(frozen=True, slots=True)
class Fleet:
    api_replicas: int
    cpu_cores: int
    gpus: int


@dataclass(frozen=True, slots=True)
class Shares:
    """Of what a fleet's parts can do, how much a demand takes. 1 is all of it."""

    api: float
    redis: float
    cpu: float
    worker: float
    gpu: float

    @property
    def largest(self) -> float:
        return max(self.api, self.redis, self.cpu, self.worker, self.gpu)


def shares(fleet: Fleet, demand: Demand, measured: Measured) -> Shares:
    """The arithmetic: seconds of each part that a second of the demand takes, by the number of parts."""
    audio_s = demand.segments_per_s * demand.audio_s_per_segment
    planning_s = demand.segments_per_s * demand.chars_per_segment / measured.plan_chars_per_s
    redis_s = demand.jobs_per_s * measured.redis_submit_s + demand.segments_per_s * measured.redis_segment_s
    return Shares(
        api=demand.jobs_per_s * measured.api_submit_s / fleet.api_replicas,
        redis=redis_s,
        cpu=(planning_s + audio_s / measured.encode_audio_per_core_s) / fleet.cpu_cores,
        worker=demand.segments_per_s * measured.worker_segment_s / fleet.gpus,
        gpu=audio_s / measured.pace(measured.slots) / fleet.gpus,
    )


def size(demand: Demand, measured: Measured, busy: float) -> Fleet:
    """The smallest fleet of which no part is busier than `busy`; Redis is one and not counted."""
    one = shares(Fleet(1, 1, 1), demand, measured)
    return Fleet(
        api_replicas=math.ceil(one.api / busy),
        cpu_cores=math.ceil(one.cpu / busy),
        gpus=math.ceil(max(one.gpu, one.worker) / busy),
    )


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of the simulated time after the first fifth. wait_s: from a job's arrival to its first segment's start."""

    segments_per_hour: float
    audio_s_per_s: float
    wait_p50_s: float
    wait_p99_s: float
    done_p50_s: float
    redis_share: float
    gpu_share: float
    most_waiting: int


class Clock:
    """Runs events in the order of their time."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._number = 0

    def at(self, time_s: float, event: Callable[[], None]) -> None:
        self._number += 1
        heapq.heappush(self._events, (time_s, self._number, event))

    def run(self, until_s: float) -> None:
        while self._events and self._events[0][0] <= until_s:
            self.now_s, _, event = heapq.heappop(self._events)
            event()
        self.now_s = until_s


class Servers:
    """`number` equal servers with one queue, first come first served."""

    def __init__(self, clock: Clock, number: int) -> None:
        self._clock = clock
        self._free = number
        self._waiting: deque[tuple[float, Callable[[], None]]] = deque()
        self.busy_s = 0.0

    def serve(self, takes_s: float, then: Callable[[], None]) -> None:
        if self._free:
            self._free -= 1
            self._begin(takes_s, then)
        else:
            self._waiting.append((takes_s, then))

    def _begin(self, takes_s: float, then: Callable[[], None]) -> None:
        self.busy_s += takes_s
        self._clock.at(self._clock.now_s + takes_s, lambda: self._end(then))

    def _end(self, then: Callable[[], None]) -> None:
        then()
        if self._waiting:
            self._begin(*self._waiting.popleft())
        else:
            self._free += 1


class Engine:
    """One GPU: its streams share the pace that it has with so many of them.

    Progress is counted in audio seconds that any stream has been given, so that a change of their number moves no
    stream's end but only the time at which it is reached.
    """

    def __init__(self, clock: Clock, measured: Measured) -> None:
        self._clock = clock
        self._measured = measured
        self._ends: list[tuple[float, int, Callable[[], None]]] = []
        self._given_s = 0.0
        self._since_s = 0.0
        self._version = 0
        self._number = 0
        self.spoken_s = 0.0

    @property
    def streams(self) -> int:
        return len(self._ends)

    def speak(self, audio_s: float, then: Callable[[], None]) -> None:
        self._catch_up()
        self._number += 1
        heapq.heappush(self._ends, (self._given_s + audio_s, self._number, then))
        self._await_next()

    def _catch_up(self) -> None:
        elapsed_s = self._clock.now_s - self._since_s
        self._since_s = self._clock.now_s
        if self._ends:
            pace = self._measured.pace(self.streams)
            self._given_s += elapsed_s * pace / self.streams
            self.spoken_s += elapsed_s * pace

    def _await_next(self) -> None:
        self._version += 1
        if self._ends:
            version = self._version
            rate = self._measured.pace(self.streams) / self.streams
            left_s = max(0.0, self._ends[0][0] - self._given_s)
            self._clock.at(self._clock.now_s + left_s / rate, lambda: self._finish(version))

    def _finish(self, version: int) -> None:
        if version != self._version:
            return
        self._catch_up()
        _, _, then = heapq.heappop(self._ends)
        self._await_next()
        then()


@dataclass(slots=True)
class _Job:
    arrived_s: float
    left: int
    started_s: float | None = None


class Simulation:
    """Jobs arrive at random; each goes through API, Redis and planning, its segments through a claim, a GPU worker and
    a commit, and all of them through one assembly. Ready segments wait in one line, and a GPU with a free slot takes
    the oldest: no turns as the real claims have, so that waits beside books come out too long. One run only.
    """

    def __init__(self, fleet: Fleet, demand: Demand, measured: Measured, seed: int) -> None:
        self.fleet = fleet
        self.demand = demand
        self.measured = measured
        self._random = random.Random(seed)
        self._clock = Clock()
        self._api = Servers(self._clock, fleet.api_replicas)
        self._redis = Servers(self._clock, 1)
        self._cpu = Servers(self._clock, fleet.cpu_cores)
        self._engines = [Engine(self._clock, measured) for _ in range(fleet.gpus)]
        self._rims = [Servers(self._clock, 1) for _ in range(fleet.gpus)]
        self._taken = [0] * fleet.gpus
        self._ready: deque[_Job] = deque()
        self._waits_s: list[float] = []
        self._spans_s: list[float] = []
        self._segments_done = 0
        self._most_waiting = 0

    def run(self, seconds: float) -> Outcome:
        self._next_arrival()
        begin_s = seconds / 5
        self._clock.run(begin_s)
        before = (self._segments_done, sum(engine.spoken_s for engine in self._engines), self._redis.busy_s)
        self._waits_s.clear()
        self._spans_s.clear()
        self._clock.run(seconds)
        return self._outcome(seconds - begin_s, before)

    def _next_arrival(self) -> None:
        pause_s = self._random.expovariate(self.demand.jobs_per_s)
        self._clock.at(self._clock.now_s + pause_s, self._arrive)

    def _arrive(self) -> None:
        job = _Job(self._clock.now_s, self.demand.segments_per_job)
        self._api.serve(self.measured.api_submit_s, lambda: self._accept(job))
        self._next_arrival()

    def _accept(self, job: _Job) -> None:
        planning_s = job.left * self.demand.chars_per_segment / self.measured.plan_chars_per_s
        self._redis.serve(self.measured.redis_submit_s, lambda: self._cpu.serve(planning_s, lambda: self._planned(job)))

    def _planned(self, job: _Job) -> None:
        self._ready.extend([job] * job.left)
        self._claim()

    def _claim(self) -> None:
        """The worker with the most free slots takes the next: all wait for tickets of the same queue."""
        while self._ready:
            gpu = min(range(self.fleet.gpus), key=self._taken.__getitem__)
            if self._taken[gpu] >= self.measured.slots:
                break
            job = self._ready.popleft()
            self._taken[gpu] += 1
            # Half of what Redis does for a segment is before its speech.
            self._redis.serve(self.measured.redis_segment_s / 2, lambda job=job, gpu=gpu: self._speak(job, gpu))
        self._most_waiting = max(self._most_waiting, len(self._ready))

    def _speak(self, job: _Job, gpu: int) -> None:
        if job.started_s is None:
            job.started_s = self._clock.now_s
            self._waits_s.append(job.started_s - job.arrived_s)
        audio_s = self.demand.audio_s_per_segment * self._random.uniform(0.5, 1.5)
        self._engines[gpu].speak(audio_s, lambda: self._store(job, gpu))

    def _store(self, job: _Job, gpu: int) -> None:
        self._taken[gpu] -= 1
        self._claim()
        self._rims[gpu].serve(
            self.measured.worker_segment_s,
            lambda: self._redis.serve(self.measured.redis_segment_s / 2, lambda: self._committed(job)),
        )

    def _committed(self, job: _Job) -> None:
        self._segments_done += 1
        job.left -= 1
        if job.left == 0:
            audio_s = self.demand.segments_per_job * self.demand.audio_s_per_segment
            encoding_s = audio_s / self.measured.encode_audio_per_core_s
            self._cpu.serve(encoding_s, lambda: self._spans_s.append(self._clock.now_s - job.arrived_s))

    def _outcome(self, seconds: float, before: tuple[int, float, float]) -> Outcome:
        segments, spoken_s, redis_s = before
        audio_s_per_s = (sum(engine.spoken_s for engine in self._engines) - spoken_s) / seconds
        return Outcome(
            segments_per_hour=(self._segments_done - segments) / seconds * 3600,
            audio_s_per_s=audio_s_per_s,
            wait_p50_s=_percentile(self._waits_s, 0.5),
            wait_p99_s=_percentile(self._waits_s, 0.99),
            done_p50_s=_percentile(self._spans_s, 0.5),
            redis_share=(self._redis.busy_s - redis_s) / seconds,
            gpu_share=audio_s_per_s / self.measured.pace(self.measured.slots) / self.fleet.gpus,
            most_waiting=self._most_waiting,
        )


def _percentile(values: list[float], share: float) -> float:
    """Not a number where nothing came so far."""
    return percentile(values, share) if values else math.nan
