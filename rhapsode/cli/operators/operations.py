"""`rhapsode workers|queues|drain|audit|dlq|reconcile`: for operators."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Annotated

import typer

from rhapsode.cli.clients import CommonOptions, connected
from rhapsode.cli.failures import FAILED, Misuse
from rhapsode.cli.formatting import counted, span
from rhapsode.cli.operators.drained import drained_workers
from rhapsode.cli.tables import print_rows
from rhapsode.cli.visible import echo

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rhapsode.cli.clients import Answer
    from rhapsode.client.sync.operations import Operations
    from rhapsode.contract.operators.fleet import DeadLetterView, QueueClass, QueueView, WorkerView

LOOK_S = 0.5
WORKER_HEADINGS = ("worker", "state", "queue", "items", "slots", "batch", "pace")
QUEUE_HEADINGS = ("queue", "class", "jobs", "tenants", "audio", "oldest", "workers", "pace")
DEAD_LETTER_HEADINGS = ("entry", "at", "tenant", "job", "item", "code", "detail")
RECONCILED = ("jobs_seen", "jobs_restored", "jobs_marked", "jobs_gone", "counters_mended")

dlq = typer.Typer(
    help="List work that failed after all retries (dead letters).", no_args_is_help=True, rich_markup_mode=None
)


def workers(common: CommonOptions) -> None:
    """List worker processes and their load.

    batch: filled part of the batch. pace: seconds of audio per second. With --json: host and process id too.
    """
    with connected(common) as client:
        found = client.operations.workers()
    _print_rows(common, found, WORKER_HEADINGS, _worker_columns)
    if not (found or common.as_json):
        echo("no worker sent a heartbeat in the last minute", err=True)


def queues(common: CommonOptions) -> None:
    """Show waiting work for each queue, and its waiting time.

    Each model has a queue. audio: waiting audio. oldest: the longest wait. pace: seconds of audio per second.
    Below: the ten tenants with most work.
    """
    from rhapsode.client.readiness import read_readiness

    with connected(common) as client:
        found = client.operations.queues()
        if common.as_json:
            echo(found.model_dump_json(indent=2))
            return
        drained, readiness = drained_workers(client.operations.workers()), read_readiness(client.server_url)
    print_rows(QUEUE_HEADINGS, [_queue_columns(queue, rank) for queue in found.data for rank in queue.classes])
    totals = found.totals
    echo(
        f"{totals.unfinished_jobs} unfinished jobs, {totals.scheduled_jobs} scheduled, {totals.leases} items running\n"
        f"{totals.backlog_audio_s:.0f} s of audio left, {totals.audio_s_per_s:.1f}x real time now, "
        f"{totals.retries_waiting} retries, {totals.dead_letters} dead letters",
        err=True,
    )
    if found.tenants:
        held = (f"{each.tenant} {counted(each.jobs, 'job')}, {span(each.audio_s)} of audio" for each in found.tenants)
        echo(f"tenants: {'; '.join(held)}", err=True)
    if totals.claims_held:
        echo(f"workers claim nothing: {totals.claims_held}", err=True)
    for queue in sorted({worker.queue or worker.role for worker in drained}):
        echo(f"all workers of {queue} are drained: `rhapsode drain WORKER --undo`", err=True)
    if readiness is not None and readiness.store != "ok":
        echo("the object store is full or does not answer: items wait", err=True)


def drain(
    common: CommonOptions,
    worker: Annotated[str, typer.Argument(metavar="WORKER", help="The worker's name from `rhapsode workers`.")],
    undo: Annotated[bool, typer.Option("--undo", help="Allow new work again.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the worker has no work.")] = False,
) -> None:
    """Stop new work for a worker.

    The worker finishes its current work and stays. The stop survives restarts under the same name.
    """
    if undo and wait:
        raise Misuse("--undo and --wait exclude each other")
    with connected(common) as client:
        if undo:
            client.operations.undrain(worker)
            echo(_drain_document(worker, "claims") if common.as_json else f"{worker} claims work again")
            return
        client.operations.drain(worker)
        if wait:
            _await_drained(client.operations, worker)
    state, line = ("drained", "is drained") if wait else ("draining", "claims no more work")
    echo(_drain_document(worker, state) if common.as_json else f"{worker} {line}")


def audit(common: CommonOptions) -> None:
    """Compare stored counters with a new count. The exit status is 1 if they differ."""
    with connected(common) as client:
        found = client.operations.audit()
    if common.as_json:
        echo(found.model_dump_json(indent=2))
    else:
        lines = [f"{each.counter}\tcounted {each.expected}\tcounter says {each.actual}" for each in found.drift]
        echo("\n".join(lines) or "no counter differs")
    if found.drift:
        raise typer.Exit(FAILED)


def reconcile(common: CommonOptions) -> None:
    """Repair Redis after a loss or a restore.

    It restores the jobs that Redis lost, and lets workers claim work again.
    """
    with connected(common) as client:
        steps = list(client.operations.reconcile())
    total = {name: sum(getattr(step, name) for step in steps) for name in RECONCILED}
    line = (
        "{jobs_seen} jobs in the journal: {jobs_restored} restored, {jobs_marked} continue from the object store, "
        "{jobs_gone} deleted since; {counters_mended} counters corrected"
    )
    echo(json.dumps(total) if common.as_json else line.format(**total))


@dlq.command("list")
def list_dead_letters(common: CommonOptions) -> None:
    """List dead letters, newest first."""
    with connected(common) as client:
        found = list(client.operations.dead_letters())
    _print_rows(common, found, DEAD_LETTER_HEADINGS, _dead_columns)
    if not (found or common.as_json):
        echo("no items", err=True)


@dlq.command("rm")
def forget_dead_letter(
    common: CommonOptions,
    entry: Annotated[str, typer.Argument(metavar="ENTRY", help="The first column of `rhapsode dlq list`.")],
) -> None:
    """Remove an entry; its job stays unchanged."""
    with connected(common) as client:
        client.operations.forget_dead_letter(entry)
    echo(json.dumps({"id": entry, "deleted": True}) if common.as_json else f"{entry} removed")


def _drain_document(worker: str, state: str) -> str:
    return json.dumps({"worker": worker, "state": state})


def _await_drained(operations: Operations, name: str) -> None:
    """Returns also if the worker ends."""
    while any(worker.name == name and worker.state != "drained" for worker in operations.workers()):
        time.sleep(LOOK_S)


def _print_rows(
    common: CommonOptions, found: Sequence[Answer], headings: Sequence[str], columns: Callable[[Answer], Sequence[str]]
) -> None:
    if common.as_json:
        common.echo_each(found, str)
    else:
        print_rows(headings, [columns(each) for each in found])


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
