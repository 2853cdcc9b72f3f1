"""How soon a system works again after its Redis primary went, and what it lost: real servers, Sentinel, Celery worker.

    python -m benchmarks.queue.failover [--failovers 24] [--jobs 1000]

Primary, replica and Sentinel (`down-after-milliseconds 1000`) on this machine. So many jobs are accepted before the
first blow, of which a segment of each is never spoken: all of them are under way at every blow. Clients submit all
the time, and do not wait for the replica; a worker of its own process takes tickets, claims, works for a while and
commits, as ours do. The primary is killed (kill -9) and frozen (SIGSTOP, as a host that stands still: nothing answers
and nothing is closed, and it comes back when all is over) in turns. Told for each: seconds from the blow until
Sentinel has chosen, until a job is accepted, and until an item is committed that was claimed afterwards; then the
median and the longest, and how many accepted jobs Redis does not know any more: those the journal would have to bring
back.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from storage.database.connections import connect_redis
from storage.errors import LeaseLost, StoreUnavailable
from storage.ids import JobId
from storage.job_store.store import JobStore
from storage.jobs.submissions import Submission
from storage.jobs.tickets import Tickets
from storage.jobs.work_items import PlanResult
from storage.jobs.work_queues import CPU_QUEUE
from storage.queue.celery_queue import TICKET_TASK, TicketQueue, create_celery
from storage.runtime.config.settings import StorageSettings
from tests.environment import without_settings
from tests.run_guard import guarded_run
from tests.storage.database.failover_servers import WatchedServers, eventually, watched_servers
from tests.storage.job_store.job_driver import ALICE, WORKER, submission

WORK_S = 0.3
LEASE_S = 30
HANDS = 8
SUBMIT_EVERY_S = 0.05
SWEEP_EVERY_S = 1.0
BETWEEN_S = 2.0
LONGEST_S = 120.0
FATES = ("killed", "frozen")


@dataclass(frozen=True, slots=True)
class Recovery:
    """Seconds from the blow."""

    fate: str
    chosen_s: float
    accepted_s: float
    committed_s: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--failovers", type=int, default=24, help="of both kinds together")
    parser.add_argument("--jobs", type=int, default=0, help="accepted before the first one")
    parser.add_argument("--worker", nargs=2, metavar=("URL", "FILE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        work(*arguments.worker)
    else:
        with guarded_run() as folder, watched_servers(folder) as servers:
            measure(servers, folder / "committed", arguments.failovers, arguments.jobs)


def work(url: str, committed: str) -> None:
    """The worker's process: one line for each item that it commits, with the moment at which it claimed it."""
    settings = _settings(url)
    jobs = JobStore(connect_redis(settings))
    app = create_celery(settings, "worker", (CPU_QUEUE,))

    @app.task(name=TICKET_TASK)
    def take() -> None:
        claimed_s = time.monotonic()
        try:
            item = jobs.claim(CPU_QUEUE, WORKER, LEASE_S).item
            if item is None:
                return
            time.sleep(WORK_S)
            jobs.commit_plan(item.lease, PlanResult(f"plan-{item.lease.fence}", 1, 3_000))
        except (StoreUnavailable, LeaseLost) as error:
            print(f"an item was left to the sweep: {error}", file=sys.stderr)
            return
        with Path(committed).open("a") as lines:
            lines.write(f"{claimed_s} {time.monotonic()}\n")

    options = ("--pool", "threads", "--concurrency", str(HANDS), "--without-gossip", "--without-mingle")
    app.worker_main(["worker", *options])


@dataclass
class Clients:
    """One that submits, again and again until it is accepted, and the janitor's part: a ticket for what has none."""

    jobs: JobStore
    tickets: TicketQueue
    accepted: list[tuple[JobId, float]] = field(default_factory=list[tuple[JobId, float]])
    over: threading.Event = field(default_factory=threading.Event)

    def submit(self) -> None:
        wanted = submission(ALICE)
        while not self.over.wait(SUBMIT_EVERY_S):
            try:
                self.accept(wanted)
            except StoreUnavailable:
                continue
            wanted = submission(ALICE)

    def accept(self, wanted: Submission) -> None:
        """Raises `StoreUnavailable`."""
        self.tickets.send(self.jobs.submit(wanted).tickets)
        self.accepted.append((wanted.id, time.monotonic()))

    def sweep(self) -> None:
        while not self.over.wait(SWEEP_EVERY_S):
            try:
                if not self.tickets.waiting(CPU_QUEUE):
                    self.tickets.send(Tickets({CPU_QUEUE: HANDS}))
            except StoreUnavailable:
                continue


def measure(servers: WatchedServers, committed: Path, failovers: int, jobs: int) -> None:
    settings = servers.settings()
    url = settings.redis_url.get_secret_value()
    command = [sys.executable, "-m", "benchmarks.queue.failover", "--worker", url, str(committed)]
    tickets = TicketQueue(create_celery(settings, "clients"))
    with connect_redis(settings) as client, (committed.parent / "worker.log").open("wb") as log:
        worker = subprocess.Popen(command, env=without_settings(os.environ), stdout=log, stderr=log)
        clients = Clients(JobStore(client), tickets)
        threads = [threading.Thread(target=run) for run in (clients.submit, clients.submit, clients.sweep)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(jobs):
                clients.accept(submission(ALICE))
            _until(lambda: committed.exists())
            recoveries = [_recovery(servers, clients, committed, FATES[number % 2]) for number in range(failovers)]
        finally:
            clients.over.set()
            for thread in threads:
                thread.join()
            worker.kill()
            worker.wait()
            tickets.close()
        _tell(recoveries, clients)


def _recovery(servers: WatchedServers, clients: Clients, committed: Path, fate: str) -> Recovery:
    time.sleep(BETWEEN_S)
    lost, struck_s = servers.primary(), time.monotonic()
    servers.freeze(lost) if fate == "frozen" else servers.kill(lost)
    _until(lambda: servers.primary() != lost)
    chosen_s = time.monotonic()
    _until(lambda: any(at_s > chosen_s for _, at_s in clients.accepted[-50:]))
    _until(lambda: _first_commit_s(committed, chosen_s) is not None)
    recovery = Recovery(
        fate,
        chosen_s - struck_s,
        next(at_s for _, at_s in clients.accepted if at_s > chosen_s) - struck_s,
        (_first_commit_s(committed, chosen_s) or 0.0) - struck_s,
    )
    print(f"{fate} {recovery.chosen_s:>6.1f} {recovery.accepted_s:>6.1f} {recovery.committed_s:>6.1f}", flush=True)
    servers.thaw(lost) if fate == "frozen" else servers.start_server(lost, of=servers.primary())
    eventually(lambda: servers.at(servers.primary()).info("replication")["connected_slaves"] == 1, LONGEST_S)
    return recovery


def _first_commit_s(committed: Path, since_s: float) -> float | None:
    rows = (line.split() for line in committed.read_text().split("\n")[:-1])
    return next((float(done_s) for claimed_s, done_s in rows if float(claimed_s) > since_s), None)


def _tell(recoveries: list[Recovery], clients: Clients) -> None:
    for fate in FATES:
        of_fate = [each for each in recoveries if each.fate == fate]
        for name in ("chosen_s", "accepted_s", "committed_s"):
            took = [getattr(each, name) for each in of_fate]
            print(f"{len(took)} {fate}, {name}: median {statistics.median(took):.1f}, longest {max(took):.1f}")
    known = clients.jobs.get_many(ALICE, [job for job, _ in clients.accepted])
    under_way = sum(record is not None and not record.state.is_terminal for record in known)
    print(f"accepted {len(known)}, of them lost {sum(record is None for record in known)}, under way {under_way}")


def _until(is_so: Callable[[], bool]) -> None:
    eventually(is_so, LONGEST_S)


def _settings(url: str) -> StorageSettings:
    return StorageSettings.model_validate({"redis_url": url, "store": "s3://nowhere"})


if __name__ == "__main__":
    main()
