"""A worker that lets tickets lie is found out, a busy or idle one is left alone."""

from __future__ import annotations

import pytest

from storage.ids import WorkQueue
from storage.jobs.tickets import Tickets
from storage.jobs.work_queues import CPU_QUEUE
from storage.queue.celery_queue import TicketQueue
from tests.worker.studio import GPU_QUEUE
from worker.process.consumption import ConsumptionWatch


@pytest.mark.parametrize(
    ("waits_for", "is_busy", "found"),
    [(GPU_QUEUE, False, ["stall"]), (CPU_QUEUE, False, []), (GPU_QUEUE, True, [])],
    ids=["waiting tickets and an idle worker", "no tickets of its own", "a busy worker"],
)
def test_a_stall_is_an_idle_worker_whose_tickets_wait(
    tickets: TicketQueue, waits_for: WorkQueue, is_busy: bool, found: list[str]
) -> None:
    stalls: list[str] = []
    watch = ConsumptionWatch(GPU_QUEUE, tickets, lambda: is_busy, lambda: stalls.append("stall"), patience_s=0.0)
    tickets.send(Tickets({waits_for: 1}))

    watch.check()

    assert stalls == found


def test_every_ticket_renews_the_patience(tickets: TicketQueue) -> None:
    stalls: list[str] = []
    watch = ConsumptionWatch(GPU_QUEUE, tickets, lambda: False, lambda: stalls.append("stall"), patience_s=60)
    tickets.send(Tickets({GPU_QUEUE: 1}))

    watch.seen()
    watch.check()

    assert stalls == []
