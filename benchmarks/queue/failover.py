"""How soon a system works again after its Redis primary went, and what it lost: real servers, Sentinel, Celery worker.

    python -m benchmarks.queue.failover [--failovers 24] [--jobs 1000]

Primary, replica and Sentinel (`down-after-milliseconds 1000`) on this machine. So many jobs are accepted before the
first failover, of which a segment of each is never spoken: all of them are under way at every one. Clients submit all
the time, and do not wait for the replica. A worker in a separate process takes tickets, claims, works for a while and
commits, as ours do. The primary is killed (kill -9) and frozen (SIGSTOP) in turns. A frozen one is like a suspended
host: it answers nothing and closes nothing, and it returns at the end. The report has for each: seconds until Sentinel
has chosen, until a job is accepted, and until a later claim is committed. Then the median and the longest, and how many
accepted jobs Redis has lost. The journal would have to restore those.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from benchmarks.rig import parser
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
from tests.storage.database.failover_servers import WatchedServers, watched_servers
from tests.storage.job_store.job_driver import ALICE, WORKER, submission
from tests.waiting import until

WORK_S = 0.3
LEASE_S = 30
HANDS = 8
SUBMIT_EVERY_S = 0.05
SWEEP_EVERY_S = 1.0
BETWEEN_S = 2.0
LONGEST_S = 120.0
FATES = ("killed", "frozen")
HEADS = ("chosen", "accepted", "committed")
_until = partial(until, within_s=LONGEST_S)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--failovers", type=int, default=24, help="of both kinds together")
    options.add_argument("--jobs", type=int, default=0, help="accepted before the first one")
    options.add_argument("--worker", nargs=2, metavar=("URL", "FILE"), help="the worker's part, in its own process")
    given = options.parse_args()
    if given.worker:
        work(*given.worker)
    else:
        with guarded_run() as folder, watched_servers(folder) as servers:
            measure(servers, folder / "committed", given.failovers, given.jobs)


def work(url: str, committed: str) -> None:
    """One line for each item that is committed, with the moment at which it was claimed."""
    settings = StorageSettings.model_validate({"redis_url": url, "store": "s3://nowhere"})
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

    threads = ("--pool", "threads", "--concurrency", str(HANDS))
    app.worker_main(["worker", *threads, "--without-gossip", "--without-mingle"])


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
            took_s = [_recovery(servers, clients, committed, FATES[number % 2]) for number in range(failovers)]
        finally:
            clients.over.set()
            for thread in threads:
                thread.join()
            worker.kill()
            worker.wait()
            tickets.close()
        for which, fate in enumerate(FATES[:failovers]):
            for name, column in zip(HEADS, zip(*took_s[which::2], strict=True), strict=True):
                middle, most = statistics.median(column), max(column)
                print(f"{len(column)} {fate}, {name}: median {middle:.1f}, longest {most:.1f}")
        known = clients.jobs.get_many(ALICE, [job for job, _ in clients.accepted])
        under_way = sum(record is not None and not record.state.is_terminal for record in known)
        print(f"accepted {len(known)}, of them lost {sum(record is None for record in known)}, under way {under_way}")


def _recovery(servers: WatchedServers, clients: Clients, committed: Path, fate: str) -> tuple[float, float, float]:
    """Seconds until each of `HEADS`."""
    time.sleep(BETWEEN_S)
    lost, struck_s = servers.primary(), time.monotonic()
    servers.freeze(lost) if fate == "frozen" else servers.kill(lost)
    _until(lambda: servers.primary() != lost)
    chosen_s = time.monotonic()
    _until(lambda: any(at_s > chosen_s for _, at_s in clients.accepted[-50:]))
    accepted_s = next(at_s for _, at_s in clients.accepted if at_s > chosen_s)
    _until(lambda: _first_commit_s(committed, chosen_s) < float("inf"))
    moments = (chosen_s, accepted_s, _first_commit_s(committed, chosen_s))
    took_s = chosen, accepted, done = moments[0] - struck_s, moments[1] - struck_s, moments[2] - struck_s
    print(f"{fate} {chosen:>6.1f} {accepted:>6.1f} {done:>6.1f}", flush=True)
    servers.thaw(lost) if fate == "frozen" else servers.start_server(lost, of=servers.primary())
    _until(lambda: servers.at(servers.primary()).info("replication")["connected_slaves"] == 1)
    return took_s


def _first_commit_s(committed: Path, since_s: float) -> float:
    """Endless where there is none yet."""
    rows = (line.split() for line in committed.read_text().split("\n")[:-1])
    return next((float(done_s) for claimed_s, done_s in rows if float(claimed_s) > since_s), float("inf"))


if __name__ == "__main__":
    main()
