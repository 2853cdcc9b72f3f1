"""A ticket of the lane that plans and joins.

Apart from `dispatch`, so that a worker that speaks loads nothing that reads documents or writes files: a third of its
start.
"""

from __future__ import annotations

from storage.jobs.batches import BatchSpec
from storage.jobs.tickets import Tickets
from storage.jobs.work_items import ASSEMBLE_ITEM, PLAN_ITEM, ClaimedItem
from storage.narration.spec import NarrationSpec
from storage.narration.voice_reference import VoiceCacheSpec
from worker.assembly.item import run_assembly
from worker.errors import unusable
from worker.items.batches import run_batch_item
from worker.items.dispatch import run_ticket
from worker.items.leases.keeper import HeldLease
from worker.items.voices import run_voice_plan
from worker.planning.item import run_plan
from worker.services import WorkerServices

_RUNS = {PLAN_ITEM: run_plan, ASSEMBLE_ITEM: run_assembly}


def run_cpu_ticket(services: WorkerServices) -> None:
    """Plan or assemble whatever is next."""
    run_ticket(services, lambda item, held: _run_cpu_item(item, held, services))


def _run_cpu_item(item: ClaimedItem, held: HeldLease, services: WorkerServices) -> Tickets:
    match item.spec:
        case VoiceCacheSpec() as spec:
            return run_voice_plan(item, spec, held, services)
        case BatchSpec() as spec:
            return run_batch_item(item, spec, held, services)
        case NarrationSpec():
            run = _RUNS.get(item.lease.item)
            if run is None:
                # A release before had more kinds: docker/UPGRADING.md.
                raise unusable("internal", f"this version does not know the item {item.lease.item!r}")
            return run(item, held, services)
