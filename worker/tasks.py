"""The two kinds of ticket. A ticket has no arguments: which item is next, the job store knows."""

from __future__ import annotations

from celery import Celery

from storage.jobs import Lane
from storage.queue import TICKET_TASKS
from worker.lifecycle import WorkerProcess


def register_ticket(app: Celery, lane: Lane, process: WorkerProcess) -> None:
    """Let `process` answer the tickets of its lane."""

    @app.task(name=TICKET_TASKS[lane], ignore_result=True)
    def ticket() -> None:
        process.run_ticket()

    del ticket  # known to the application by its name
