"""A ticket of the lane that plans: an item, and what it makes ready in the same queue."""

from __future__ import annotations

from dataclasses import replace

import pytest

from storage.jobs.tickets import Tickets
from storage.jobs.work_items import ClaimedItem, ReleaseReason
from storage.jobs.work_queues import CPU_QUEUE
from tests.worker.studio import Studio
from worker.items.dispatch import run_ticket
from worker.items.leases.keeper import HeldLease


class Returning:
    """Items that go back and are ready again, until the last of so many."""

    def __init__(self, studio: Studio, times: int) -> None:
        self._jobs, self.left = studio.jobs, times

    def __call__(self, item: ClaimedItem, held: HeldLease) -> Tickets:
        self.left -= 1
        tickets = self._jobs.release(item.lease, ReleaseReason.SHUTDOWN)
        return tickets if self.left > 0 else Tickets()


def test_a_ticket_goes_on_as_long_as_its_items_make_others_ready(studio: Studio) -> None:
    studio.submit()
    items = Returning(studio, times=5)

    run_ticket(replace(studio.services.worker, queue=CPU_QUEUE), items)

    assert items.left == 0
    assert studio.services.worker.tickets.waiting(CPU_QUEUE) == 0


def test_a_ticket_ends_in_time_and_leaves_one_for_what_it_made_ready(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.items.dispatch.TICKET_LIFE_S", 0.0)
    studio.submit()
    items = Returning(studio, times=5)

    run_ticket(replace(studio.services.worker, queue=CPU_QUEUE), items)

    assert items.left == 4
    assert studio.services.worker.tickets.waiting(CPU_QUEUE) == 1
