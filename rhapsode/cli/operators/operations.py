"""`rhapsode workers|queues|drain|audit|dlq|reconcile`: for operators."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Annotated

import typer

from rhapsode.cli.clients import connected
from rhapsode.cli.failures import FAILED, Misuse
from rhapsode.cli.for_each import deleted
from rhapsode.cli.options import DataDirOption, JsonOption, ServerOption
from rhapsode.cli.tables import print_rows
from rhapsode.cli.visible import echo

if TYPE_CHECKING:
    from rhapsode.client.sync.operations import Operations
    from rhapsode.contract.operators.fleet import DeadLetterView, QueueClass, QueueView, WorkerView

LOOK_S = 0.5
WORKER_HEADINGS = ("worker", "state", "queue", "items", "slots", "batch", "pace")
QUEUE_HEADINGS = ("queue", "class", "jobs", "tenants", "audio", "oldest", "workers", "pace")
DEAD_LETTER_HEADINGS = ("entry", "at", "tenant", "job", "item", "code", "detail")

dlq = typer.Typer(
    help="List work that failed after all retries (dead letters).", no_args_is_help=True, rich_markup_mode=None
)


def workers(server: ServerOption = None, data_dir: DataDirOption = None, as_json: JsonOption = False) -> None:
    """List worker processes and their load.

    batch: filled part of the batch. pace: seconds of audio per second. With --json: host and process id too.
    """
    with connected(server, data_dir) as client:
        found = client.operations.workers()
    if as_json:
        for worker in found:
            echo(worker.model_dump_json())
        return
    print_rows(WORKER_HEADINGS, [_worker_columns(worker) for worker in found])
    if not found:
        echo("no worker sent a heartbeat in the last minute", err=True)


def queues(server: ServerOption = None, data_dir: DataDirOption = None, as_json: JsonOption = False) -> None:
    """Show waiting work for each pool, and its waiting time.

    audio: waiting audio. oldest: the longest wait. pace: seconds of audio per second.
    """
    with connected(server, data_dir) as client:
        found = client.operations.queues()
    if as_json:
        echo(found.model_dump_json(indent=2))
        return
    print_rows(QUEUE_HEADINGS, [_queue_columns(queue, rank) for queue in found.data for rank in queue.classes])
    totals = found.totals
    echo(
        f"{totals.unfinished_jobs} unfinished jobs, {totals.scheduled_jobs} scheduled, {totals.leases} items running\n"
        f"{totals.backlog_audio_s:.0f} s of audio left, {totals.audio_s_per_s:.1f}x real time now, "
        f"{totals.retries_waiting} retries, {totals.dead_letters} dead letters",
        err=True,
    )
    if totals.claims_held:
        echo(f"workers claim nothing: {totals.claims_held}", err=True)


def drain(
    worker: Annotated[str, typer.Argument(metavar="WORKER", help="The worker's name from `rhapsode workers`.")],
    undo: Annotated[bool, typer.Option("--undo", help="Allow new work again.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the worker has no work.")] = False,
    server: ServerOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Stop new work for a worker.

    The worker finishes its current work and stays. The stop survives restarts under the same name.
    """
    if undo and wait:
        raise Misuse("--undo and --wait exclude each other")
    with connected(server, data_dir) as client:
        if undo:
            client.operations.undrain(worker)
            echo(_drain_document(worker, "claims") if as_json else f"{worker} claims work again")
            return
        client.operations.drain(worker)
        if wait:
            _await_drained(client.operations, worker)
    if as_json:
        echo(_drain_document(worker, "drained" if wait else "draining"))
        return
    echo(f"{worker} is drained" if wait else f"{worker} claims no more work")


def audit(server: ServerOption = None, data_dir: DataDirOption = None, as_json: JsonOption = False) -> None:
    """Compare stored counters with a new count. The exit status is 1 if they differ."""
    with connected(server, data_dir) as client:
        found = client.operations.audit()
    if as_json:
        echo(found.model_dump_json(indent=2))
    for each in () if as_json else found.drift:
        echo(f"{each.counter}\tcounted {each.expected}\tcounter says {each.actual}")
    if found.drift:
        raise typer.Exit(FAILED)
    if not as_json:
        echo("no counter differs")


def reconcile(server: ServerOption = None, data_dir: DataDirOption = None, as_json: JsonOption = False) -> None:
    """Repair Redis after a loss or a restore.

    It restores the jobs that Redis lost, and lets workers claim work again.
    """
    seen = restored = marked = gone = mended = 0
    with connected(server, data_dir) as client:
        for step in client.operations.reconcile():
            seen += step.jobs_seen
            restored += step.jobs_restored
            marked += step.jobs_marked
            gone += step.jobs_gone
            mended += step.counters_mended
    if as_json:
        jobs = {"jobs_seen": seen, "jobs_restored": restored, "jobs_marked": marked, "jobs_gone": gone}
        echo(json.dumps({**jobs, "counters_mended": mended}))
        return
    echo(
        f"{seen} jobs in the journal: {restored} restored, {marked} continue from the object store, "
        f"{gone} deleted since; {mended} counters corrected"
    )


@dlq.command("list")
def list_dead_letters(server: ServerOption = None, data_dir: DataDirOption = None, as_json: JsonOption = False) -> None:
    """List dead letters, newest first."""
    with connected(server, data_dir) as client:
        found = list(client.operations.dead_letters())
    if as_json:
        for item in found:
            echo(item.model_dump_json())
        return
    print_rows(DEAD_LETTER_HEADINGS, [_dead_columns(item) for item in found])


@dlq.command("rm")
def forget_dead_letter(
    entry: Annotated[str, typer.Argument(metavar="ENTRY", help="The first column of `rhapsode dlq list`.")],
    server: ServerOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove an entry; its job stays unchanged."""
    with connected(server, data_dir) as client:
        client.operations.forget_dead_letter(entry)
    echo(deleted(entry).document if as_json else f"{entry} removed")


def _drain_document(worker: str, state: str) -> str:
    return json.dumps({"worker": worker, "state": state})


def _await_drained(operations: Operations, name: str) -> None:
    """Also content with a worker that ended: nothing is left in its hands either."""
    while True:
        found = next((worker for worker in operations.workers() if worker.name == name), None)
        if found is None or found.state == "drained":
            return
        time.sleep(LOOK_S)


def _worker_columns(worker: WorkerView) -> tuple[str, ...]:
    engine = worker.engine
    return (
        worker.name,
        ", ".join((worker.state, *(f"{task} is down" for task in worker.tasks_down))),
        " or ".join((worker.queue or worker.role, *worker.other_models)),
        str(worker.leases),
        str(worker.slots) if worker.slots is not None else "-",
        f"{engine.batch_fill:.0%}" if engine and engine.batch_fill is not None else "-",
        f"{engine.audio_s_per_s:.1f}x" if engine and engine.audio_s_per_s is not None else "-",
    )


def _queue_columns(queue: QueueView, rank: QueueClass) -> tuple[str, ...]:
    return (
        queue.name,
        rank.job_class,
        str(rank.jobs),
        str(rank.tenants),
        f"{rank.backlog_audio_s:.0f} s",
        "-" if rank.oldest_wait_s is None else f"{rank.oldest_wait_s:.1f} s",
        str(queue.workers),
        "-" if queue.pace is None else f"{queue.pace:.1f}x",
    )


def _dead_columns(item: DeadLetterView) -> tuple[str, ...]:
    return item.id, f"{item.at:%Y-%m-%d %H:%M:%S}", item.tenant, item.job, item.item, item.code, item.detail
