"""The system under kill -9, stop and loss: every job ends once, with exactly its bytes, and nothing is left behind.

Each row of the table drives the standard load through real processes and breaks something under it. The number of
faults grows with the number of jobs: 40 in an ordinary test run, 1,000 with `make faults`. Rows that need no settings
share a system; each adds its number to the seed, since speech that another row has ordered would not be made again.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import httpx
import pytest

from rhapsode.stack import processes
from storage.database.connections import open_artifacts
from storage.ids import WorkQueue
from storage.jobs.tickets import Tickets
from storage.jobs.work_items import QUARANTINE_SUSPICIONS
from storage.jobs.work_queues import CPU_QUEUE, speech_queue
from storage.objects.keys import JOBS
from tests.faults.conftest import Report, StartSystem
from tests.faults.figures import FaultLog, Figures, check_honest_end, check_standard_pass, collect
from tests.faults.load import Load, NarrationJob, Outcome, standard_load
from tests.faults.system import LOOK_S, SLOTS, RunningSystem, api_key
from tests.process_tree import is_alive
from tests.storage.objects.embedded_s3 import BUCKET, REGION, EmbeddedS3
from tests.storage.objects.faulty_proxy import Mode, faulty_proxy
from tests.threads import BoundedExecutor, join_in_time
from worker.engine.fake import POISON_MARKER

pytestmark = [pytest.mark.faults, pytest.mark.timeout(1800)]

STORE_FAULT_S = 6
"""Longer than the tries of one call of a server that refuses."""

TWICE = Path(__file__).parent / "duplicate_calls"
"""A folder for PYTHONPATH that makes processes repeat their commits."""

AT_LEAST_JOBS = 40
"""Of a row whose load is half of what others have."""

AT_LEAST_WITH_BOMBS = 100
AT_LEAST_WITH_SLEEPER = 80
"""So that the worker has something to lose a second time."""

AT_LEAST_WITH_PACKS = 80
"""So that both faults befall some of the packs that are seen at work."""

AT_LEAST_SEGMENTS = 80
"""So that a long job is at work when everything dies."""

Strike = Callable[[Load, FaultLog], None]

GPU_THREADS = SLOTS * 3 // 2
"""Claims one gpu worker can hold at a time."""


def _scaled(num_jobs: int, at_least: int) -> int:
    """Faults of one kind: `at_least` up to 200 jobs, in proportion from there."""
    return max(at_least, at_least * num_jobs // 200)


def _run_row(
    row: str,
    system: RunningSystem,
    jobs: list[NarrationJob],
    seed: int,
    report: Report,
    strike: Strike,
) -> Figures:
    """The load, the faults while it runs, and the standard pass afterwards."""
    figures, outcomes = _run_load(row, system, jobs, seed, report, strike)
    check_standard_pass(figures, system, outcomes)
    return figures


def _run_load(
    row: str,
    system: RunningSystem,
    jobs: list[NarrationJob],
    seed: int,
    report: Report,
    strike: Strike,
) -> tuple[Figures, list[Outcome]]:
    begun_s = time.monotonic()
    load, log = Load(system, jobs, system.rows), FaultLog()
    with load.running():
        strike(load, log)
    outcomes = load.outcomes()
    figures = collect(row, seed, system, outcomes, log, time.monotonic() - begun_s)
    report(figures.line())
    assert load.unhelpful == []
    return figures, outcomes


def _spread(count: int, dice: random.Random) -> list[float]:
    """When faults strike, as fractions of the load that has ended: one in each of `count` equal stretches."""
    return [(number + dice.uniform(0.1, 0.6)) / (count + 0.5) for number in range(count)]


def _strike_nothing(load: Load, log: FaultLog) -> None:
    """The row without faults."""


def _repeated(count: int, seed: int, blow: Strike) -> Strike:
    """A blow of the same kind in each of `count` stretches of the load."""
    dice = random.Random(seed)

    def strike(load: Load, log: FaultLog) -> None:
        under_load = 0
        for fraction in _spread(count, dice):
            load.wait_until(fraction)
            under_load += not load.is_over
            blow(load, log)
        assert under_load, "the load was over before the first blow"

    return strike


def _kill(system: RunningSystem, name: str, load: Load, log: FaultLog) -> None:
    """kill -9 a process of the stack, wait for its successor and for the next progress."""
    pid, struck_s = system.pid(name), time.time()
    os.kill(pid, signal.SIGKILL)
    log.struck(f"kill -9 {name}")
    system.wait_replaced(name, pid)
    log.until_progress(system, load, struck_s, since_s=time.time())


def _end_engine(system: RunningSystem, how: signal.Signals, name: str, load: Load, log: FaultLog) -> None:
    """Kill the engine's process, or stop it until its watchdog does, and wait as `_kill` does."""
    engine, struck_s = system.engine_pid(), time.time()
    os.kill(engine, how)
    log.struck(name)
    system.eventually(lambda: system.engine_pid() != engine, 120)
    log.until_progress(system, load, struck_s, since_s=time.time())


def test_row_0_without_faults_nothing_runs_twice(
    system: RunningSystem, num_jobs: int, seed: int, report: Report
) -> None:
    figures = _run_row("0 no fault", system, standard_load(num_jobs, seed), seed, report, _strike_nothing)

    assert figures.reruns == 0


def test_row_1_killing_the_api_loses_and_doubles_no_job(
    system: RunningSystem, num_jobs: int, seed: int, report: Report
) -> None:
    strike = _repeated(_scaled(num_jobs, 3), seed, partial(_kill, system, processes.API))

    _run_row("1 kill -9 API", system, standard_load(num_jobs, seed + 1), seed, report, strike)


def test_row_1_an_api_that_dies_before_it_tells_anybody_has_accepted_the_job(
    start_system: StartSystem, seed: int, report: Report
) -> None:
    """It dies at every new job, when that is durable and no ticket was sent; the client's repeat is a replay."""
    system = start_system(RHAPSODE_FAILPOINT="submit.before_tickets:kill")
    first_pid = system.pid(processes.API)

    def strike(load: Load, log: FaultLog) -> None:
        load.wait_until(1.0)
        assert system.pid(processes.API) != first_pid
        for _ in range(system.restarts(processes.API)):
            log.struck("death before the tickets")

    figures = _run_row("1 API dies untold", system, standard_load(4, seed), seed, report, strike)

    assert figures.faults["death before the tickets"] >= 1
    assert figures.topped_up >= 1


def test_row_2_killing_the_gpu_worker_costs_only_what_it_held(
    system: RunningSystem, num_jobs: int, seed: int, report: Report
) -> None:
    kills = _scaled(num_jobs, 3)
    strike = _repeated(kills, seed, partial(_kill, system, processes.GPU_WORKER))

    figures = _run_row("2 kill -9 gpu worker", system, standard_load(num_jobs, seed + 2), seed, report, strike)

    assert figures.reruns <= kills * GPU_THREADS


def test_row_3_killing_the_engine_costs_no_item_an_attempt(
    system: RunningSystem, num_jobs: int, seed: int, report: Report
) -> None:
    kills = _scaled(num_jobs, 3)
    strike = _repeated(kills, seed, partial(_end_engine, system, signal.SIGKILL, "kill -9 engine"))

    figures = _run_row("3 kill -9 engine", system, standard_load(num_jobs, seed + 3), seed, report, strike)

    assert figures.reruns <= kills * GPU_THREADS


def test_killing_those_who_finish_segments_costs_nothing_at_all(
    start_system: StartSystem, num_jobs: int, seed: int, report: Report
) -> None:
    """What such a process was doing is done by another; and all of them end with their worker."""
    system, kills, dice = start_system(RHAPSODE_POSTPROCESSORS="2"), _scaled(num_jobs, 5), random.Random(seed)

    def kill_one(load: Load, log: FaultLog) -> None:
        victim, struck_s = dice.choice(system.postprocessor_pids()), time.time()
        os.kill(victim, signal.SIGKILL)
        log.struck("kill -9 post-processor")
        log.until_progress(system, load, struck_s, since_s=time.time())
        system.eventually(lambda: len(system.postprocessor_pids()) == 2, 120)

    figures = _run_row(
        "kill -9 post-processor",
        system,
        standard_load(max(AT_LEAST_JOBS, num_jobs // 2), seed),
        seed,
        report,
        _repeated(kills, seed, kill_one),
    )

    assert figures.reruns == 0
    postprocessors, worker = system.postprocessor_pids(), system.pid(processes.GPU_WORKER)
    os.kill(worker, signal.SIGKILL)
    system.wait_replaced(processes.GPU_WORKER, worker)
    system.eventually(lambda: not any(is_alive(pid) for pid in postprocessors), 120)


def test_row_4_a_worker_that_sleeps_past_its_leases_changes_no_result(
    start_system: StartSystem, num_jobs: int, seed: int, report: Report
) -> None:
    system = start_system(RHAPSODE_LEASE_S="2")
    sleeper = system.start_gpu_worker("gpu-sleeper")
    stops = _scaled(num_jobs, 2)

    def stop_for_a_while(load: Load, log: FaultLog) -> None:
        # Something to lose: the worker is stopped while it speaks.
        system.eventually(lambda: system.leases_of("gpu-sleeper") > 0, 120)
        os.kill(sleeper, signal.SIGSTOP)
        log.struck("SIGSTOP gpu worker")
        system.eventually(lambda: system.leases_of("gpu-sleeper") == 0, 120)
        os.kill(sleeper, signal.SIGCONT)

    strike = _repeated(stops, seed, stop_for_a_while)
    jobs = standard_load(max(num_jobs, AT_LEAST_WITH_SLEEPER), seed)
    figures = _run_row("4 SIGSTOP gpu worker", system, jobs, seed, report, strike)

    assert figures.stale_refused >= 1
    assert figures.reruns <= stops * GPU_THREADS


def test_row_5_killing_the_database_loses_nothing(
    system: RunningSystem, num_jobs: int, seed: int, report: Report
) -> None:
    strike = _repeated(_scaled(num_jobs, 2), seed, partial(_kill, system, processes.VALKEY))

    _run_row("5 kill -9 Valkey", system, standard_load(num_jobs, seed + 5), seed, report, strike)


def test_a_failing_object_store_fails_no_job_and_charges_no_item(
    start_system: StartSystem, weed: EmbeddedS3, num_jobs: int, seed: int, report: Report
) -> None:
    """An S3 server that is stopped, busy, silent and slow in turn, under all that reads and writes it."""
    with faulty_proxy(weed.endpoint_url) as proxy:
        system = start_system(
            RHAPSODE_STORE=f"s3://{BUCKET}/faults/{uuid.uuid4().hex}",
            RHAPSODE_S3_ENDPOINT_URL=proxy.address,
            RHAPSODE_S3_PUBLIC_ENDPOINT=weed.endpoint_url,
            RHAPSODE_S3_REGION=REGION,
            **weed.environment,
        )
        modes = itertools.cycle((Mode.STOPPED, Mode.BUSY, Mode.SILENT, Mode.TRICKLING))

        def fail(load: Load, log: FaultLog) -> None:
            mode, struck_s = next(modes), time.time()
            proxy.become(mode)
            log.struck(f"store {mode.value}")
            time.sleep(STORE_FAULT_S)
            proxy.become(Mode.WELL)
            log.until_progress(system, load, struck_s, since_s=time.time())

        strike = _repeated(_scaled(num_jobs, 4), seed, fail)
        _run_row("failing S3", system, standard_load(max(AT_LEAST_JOBS, num_jobs // 2), seed), seed, report, strike)

        told = [str(event) for event in system.log_events("item failed unexpectedly")]
        assert told == []


def test_row_9_a_flushed_broker_is_filled_again(
    system: RunningSystem, num_jobs: int, seed: int, report: Report
) -> None:
    def flush(load: Load, log: FaultLog) -> None:
        struck_s = time.time()
        system.flush_broker()
        log.struck("FLUSHDB broker")
        log.until_progress(system, load, struck_s, since_s=time.time())

    strike = _repeated(_scaled(num_jobs, 3), seed, flush)
    figures = _run_row("9 FLUSHDB broker", system, standard_load(num_jobs, seed + 9), seed, report, strike)

    assert figures.reruns == 0


def test_row_12_a_rolling_restart_runs_nothing_twice(
    system: RunningSystem, num_jobs: int, seed: int, report: Report
) -> None:
    exits_s: list[float] = []

    def restart_workers(load: Load, log: FaultLog) -> None:
        for name in (processes.GPU_WORKER, processes.CPU_WORKER):
            pid, struck_s = system.pid(name), time.time()
            os.kill(pid, signal.SIGTERM)
            log.struck(f"SIGTERM {name}")
            system.wait_replaced(name, pid)
            exits_s.append(time.time() - struck_s)

    strike = _repeated(_scaled(num_jobs, 2), seed, restart_workers)
    figures = _run_row("12 rolling SIGTERM", system, standard_load(num_jobs, seed + 12), seed, report, strike)

    assert figures.reruns == 0
    assert max(exits_s) <= 25


def test_rows_25_and_46_repeats_have_one_effect_and_messages_that_are_no_tickets_none(
    start_system: StartSystem, num_jobs: int, seed: int, report: Report, data_dir: Path
) -> None:
    """Three tickets for each one that is needed, every script that counts called twice, submissions five times; and
    amid the tickets, for either lane, what somebody would write who wants to run something or to end a worker."""
    system, jobs = start_system(PYTHONPATH=str(TWICE)), standard_load(max(num_jobs, AT_LEAST_WITH_BOMBS), seed)
    replays: list[tuple[int, int]] = []
    for name in (processes.API, processes.CPU_WORKER, processes.GPU_WORKER):
        assert str(TWICE).encode() in Path(f"/proc/{system.pid(name)}/environ").read_bytes()

    def strike(load: Load, log: FaultLog) -> None:
        with BoundedExecutor(5) as at_once:
            for job in jobs[: num_jobs // 4]:
                answers = list(at_once.map(partial(_submit, system), [job] * 5))
                assert {answer.status_code for answer in answers} == {202}
                ids = {answer.json()["id"] for answer in answers}
                replays.append((len(ids), sum("idempotency-replayed" in answer.headers for answer in answers)))
                log.struck("submission repeated")
        other = NarrationJob(jobs[0].number, jobs[0].tenant, "Another text under the same key.", 0)
        assert _submit(system, other).status_code == 422

    canary = data_dir / "canary"
    bombs = [(queue, bomb) for bomb in system.bombs(canary) for queue in (CPU_QUEUE, speech_queue("fake"))]
    with _surplus_tickets(system, bombs):
        figures = _run_row("25, 46 everything repeated, bombs in the broker", system, jobs, seed, report, strike)

    # The client of the load may have come first; then all five are replays.
    assert {ids for ids, _ in replays} == {1}
    assert {count for _, count in replays} <= {4, 5}
    assert figures.reruns == 0
    assert [system.restarts(name) for name in (processes.CPU_WORKER, processes.GPU_WORKER)] == [0, 0]
    assert not canary.exists()
    system.eventually(lambda: _num_refused(system) >= len(bombs) // 3, 60)


def _num_refused(system: RunningSystem) -> int:
    """The log has a line a second, which counts."""
    return sum(int(str(line["messages"])) for line in system.log_events("refused what is no ticket"))


def test_row_33_poison_fails_alone(system: RunningSystem, num_jobs: int, seed: int, report: Report) -> None:
    """A text that kills the engine whenever it is spoken, amid others that have done nothing wrong."""
    jobs, dice = standard_load(num_jobs, seed + 33), random.Random(seed)
    poisonous = set(dice.sample(range(num_jobs * 3 // 4), max(1, 3 * num_jobs // 1000)))
    for number in poisonous:
        jobs[number] = replace(jobs[number], text=f"{jobs[number].text} This {POISON_MARKER}.")

    figures, outcomes = _run_load("33 poison", system, jobs, seed, report, _strike_nothing)

    check_honest_end(figures, system, outcomes)
    failed = {outcome.job.number: outcome for outcome in outcomes if outcome.error is not None}
    assert set(failed) == poisonous
    assert {outcome.state for outcome in failed.values()} == {"failed"}
    assert figures.charged_attempts == len(poisonous)
    # In company until it is suspected, then alone until its attempts are used up.
    deaths = QUARANTINE_SUSPICIONS + 4
    assert len(system.log_events("engine died")) >= deaths
    assert figures.reruns <= len(poisonous) * deaths * GPU_THREADS


def test_packs_that_are_lost_or_cut_cost_nothing_but_the_speech_in_them(
    system: RunningSystem, num_jobs: int, seed: int, report: Report
) -> None:
    """Packs of jobs that are at work, as soon as they are seen: deleted, or cut in the middle of their segments.

    Two of a job at most: a job has three rounds of mending before its store is given up.
    """
    store, seen, dice = open_artifacts(system.storage_settings), set[str](), random.Random(seed)
    struck: Counter[str] = Counter()

    def new_packs() -> list[str]:
        found = [entry.key for entry in store.list(JOBS) if entry.key.endswith(".pack") and entry.key not in seen]
        seen.update(found)
        return found

    new_packs()  # those of earlier rows

    def strike(load: Load, log: FaultLog) -> None:
        while not load.is_over:
            for key in new_packs():
                how = dice.choice(("spared", "spared", "deleted", "cut"))
                job = key.split("/")[2]
                if how == "spared" or struck[job] == 2:
                    continue
                struck[job] += 1
                data = store.get(key)
                store.delete(key)
                if how == "cut":
                    store.put(key, data[: dice.randint(0, len(data) - 1)])
                log.struck(f"pack {how}")
            time.sleep(LOOK_S)

    jobs = standard_load(max(num_jobs, AT_LEAST_WITH_PACKS), seed + 34)
    figures = _run_row("packs deleted or cut", system, jobs, seed, report, strike)

    assert {"pack deleted", "pack cut"} <= figures.faults.keys()


def test_row_35_a_hung_engine_is_replaced(start_system: StartSystem, num_jobs: int, seed: int, report: Report) -> None:
    watchdog_s = 3.0
    system = start_system(RHAPSODE_ENGINE_WATCHDOG_S=str(watchdog_s))
    strike = _repeated(_scaled(num_jobs, 1), seed, partial(_end_engine, system, signal.SIGSTOP, "SIGSTOP engine"))

    figures = _run_row("35 hung engine", system, standard_load(num_jobs, seed), seed, report, strike)

    # The figure is printed; what is asserted leaves a busy machine time to start an engine.
    assert max(figures.recoveries_s) <= watchdog_s + 60


@pytest.mark.long_run
@pytest.mark.parametrize(
    ("place", "passage"),
    [
        ("submit.after_put", 10),
        ("submit.before_tickets", 10),
        ("claim.after", 40),
        ("plan.after_put", 10),
        ("plan.before_tickets", 10),
        ("pack.after_put", 4),
        ("segment.after_put", 40),
        ("segment.before_tickets", 40),
        ("assemble.after_put", 10),
        ("assemble.after_finish", 10),
    ],
)
def test_a_death_between_any_effect_and_its_record_changes_nothing(
    start_system: StartSystem, seed: int, report: Report, place: str, passage: int
) -> None:
    system = start_system(RHAPSODE_FAILPOINT=f"{place}:kill:{passage}")

    def strike(load: Load, log: FaultLog) -> None:
        load.wait_until(1.0)
        for name in (processes.API, processes.CPU_WORKER, processes.GPU_WORKER):
            for _ in range(system.restarts(name)):
                log.struck(f"{name} died")

    figures = _run_row(f"death at {place}", system, standard_load(50, seed), seed, report, strike)

    assert sum(figures.faults.values()) >= 1


def test_row_37_a_long_job_survives_the_death_of_everything(
    system: RunningSystem, num_jobs: int, seed: int, report: Report
) -> None:
    """1,000 segments with `make faults`, as many as other rows have jobs."""
    log, begun_s = FaultLog(), time.monotonic()
    (short, *_), dice = standard_load(1, seed + 37), random.Random(seed + 37)
    num_sentences = max(num_jobs, AT_LEAST_SEGMENTS)
    text = "\n\n".join([short.text, *_sentences(dice, num_sentences)])
    long = NarrationJob(short.number, short.tenant, text, short.seed)
    num_segments = long.expected_wav().num_segments
    assert num_segments >= num_sentences
    accepted = _submit(system, long)
    assert accepted.status_code == 202
    system.eventually(lambda: system.finished_segments() >= num_segments // 2, 120)

    held, struck_s = system.leases(), time.time()
    system.kill_everything()
    log.struck("kill -9 of everything")
    system.start()

    load = Load(system, [long], system.rows)
    with load.running():
        log.until_progress(system, load, struck_s, since_s=time.time())
    outcomes = load.outcomes()
    figures = collect("37 kill -9 of everything", seed, system, outcomes, log, time.monotonic() - begun_s)
    report(figures.line())
    report(f"  synthesised again: {figures.reruns} of {num_segments} segments; {held} were in flight")
    check_standard_pass(figures, system, outcomes)
    assert figures.reruns <= max(held, GPU_THREADS)
    assert outcomes[0].job_id == accepted.json()["id"]


def _sentences(dice: random.Random, count: int) -> list[str]:
    return [f"Sentence {number} of the long story speaks of {dice.randrange(1000)} things." for number in range(count)]


def _submit(system: RunningSystem, job: NarrationJob) -> httpx.Response:
    headers = {"Authorization": f"Bearer {api_key(job.tenant)}", "Idempotency-Key": job.key(system.rows)}
    return httpx.post(
        f"{system.url}/v1/jobs", json=job.body(), headers=headers, timeout=30, trust_env=False, verify=False
    )


@contextmanager
def _surplus_tickets(system: RunningSystem, bombs: list[tuple[WorkQueue, bytes]]) -> Generator[None]:
    """About twice as many tickets again as the load itself causes, and one bomb after the other, each once."""
    over, tickets = threading.Event(), system.tickets()

    def send() -> None:
        left = iter(bombs)
        while not over.wait(0.1):
            tickets.send(Tickets({CPU_QUEUE: 4, speech_queue("fake"): 10}))
            for bomb in itertools.islice(left, 1):
                system.put_into_broker(*bomb)
        for bomb in left:
            system.put_into_broker(*bomb)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        yield
    finally:
        over.set()
        join_in_time(sender)
        tickets.close()
