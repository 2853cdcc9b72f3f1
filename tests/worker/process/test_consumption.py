"""A worker that lets tickets lie is found out, a busy or idle one is left alone."""

from __future__ import annotations

from storage.jobs.tickets import Tickets
from storage.jobs.work_queues import CPU_QUEUE
from storage.queue.celery_queue import TicketQueue
from tests.worker.studio import GPU_QUEUE
from worker.process.consumption import ConsumptionWatch


def test_waiting_tickets_and_an_idle_worker_are_a_stall(tickets: TicketQueue) -> None:
    stalls: list[str] = []
    watch = ConsumptionWatch(GPU_QUEUE, tickets, lambda: False, lambda: stalls.append("stall"), patience_s=0.0)
    tickets.send(Tickets({GPU_QUEUE: 1}))

    watch.check()

    assert stalls == ["stall"]


def test_no_tickets_no_stall(tickets: TicketQueue) -> None:
    stalls: list[str] = []
    watch = ConsumptionWatch(GPU_QUEUE, tickets, lambda: False, lambda: stalls.append("stall"), patience_s=0.0)
    tickets.send(Tickets({CPU_QUEUE: 1}))

    watch.check()

    assert stalls == []


def test_a_busy_worker_may_let_tickets_wait(tickets: TicketQueue) -> None:
    stalls: list[str] = []
    watch = ConsumptionWatch(GPU_QUEUE, tickets, lambda: True, lambda: stalls.append("stall"), patience_s=0.0)
    tickets.send(Tickets({GPU_QUEUE: 1}))

    watch.check()

    assert stalls == []


def test_every_ticket_renews_the_patience(tickets: TicketQueue) -> None:
    stalls: list[str] = []
    watch = ConsumptionWatch(GPU_QUEUE, tickets, lambda: False, lambda: stalls.append("stall"), patience_s=60)
    tickets.send(Tickets({GPU_QUEUE: 1}))

    watch.seen()
    watch.check()

    assert stalls == []
