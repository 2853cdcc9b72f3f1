"""A ticket of the lane that plans and joins.

Apart from `dispatch`, so that a worker that speaks loads nothing that reads documents or writes files: a third of its
start.
"""

from __future__ import annotations

from storage.jobs.batches import BatchSpec
from storage.jobs.tickets import Tickets
from storage.jobs.work_items import ASSEMBLE_ITEM, DELIVER_ITEM, PLAN_ITEM, ClaimedItem
from storage.narration.spec import NarrationSpec
from storage.narration.voice_reference import VoiceCacheSpec
from worker.assembly.delivery import run_delivery
from worker.assembly.item import run_assembly
from worker.items.batches import run_batch_item
from worker.items.dispatch import run_ticket
from worker.items.leases.keeper import HeldLease
from worker.items.voices import run_voice_plan
from worker.planning.item import run_plan
from worker.services import WorkerServices

_RUNS = {PLAN_ITEM: run_plan, ASSEMBLE_ITEM: run_assembly, DELIVER_ITEM: run_delivery}


def run_cpu_ticket(services: WorkerServices) -> None:
    """Plan, assemble or deliver whatever is next."""
    run_ticket(services, lambda item, held: _run_cpu_item(item, held, services))


def _run_cpu_item(item: ClaimedItem, held: HeldLease, services: WorkerServices) -> Tickets:
    match item.spec:
        case VoiceCacheSpec() as spec:
            return run_voice_plan(item, spec, held, services)
        case BatchSpec() as spec:
            return run_batch_item(item, spec, held, services)
        case NarrationSpec():
            return _RUNS[item.lease.item](item, held, services)
