"""The ticket as a task. It has no arguments: which item is next, the job store knows."""

from __future__ import annotations

from celery import Celery

from storage.queue.celery_queue import TICKET_TASK
from worker.process.signals import TicketProcess


def register_ticket(app: Celery, process: TicketProcess) -> None:
    """Let `process` answer the tickets of its queue."""

    @app.task(name=TICKET_TASK, ignore_result=True)
    def ticket() -> None:
        process.run_ticket()

    del ticket  # known to the application by its name
