"""What the store has lost or damaged of a finished segment is spoken again: text, seed and voice of its take are known.

The assembly that met the damage looks at all segments, so that one round mends all of them, and hands its item back.
Each run of a job has a few rounds, because a store that damages everything it is given is not mended here.
"""

from __future__ import annotations

import logging

from reading.drafting.warnings import TextWarning
from storage.jobs.tickets import Tickets
from storage.jobs.warnings import SEGMENT_DAMAGED
from storage.jobs.work_items import ClaimedItem
from storage.segments.results import SegmentResult
from worker.assembly.narration import AssembledNarration
from worker.assembly.segment_reader import SegmentDamaged, SegmentFetcher
from worker.errors import NotYet, unusable
from worker.items.leases.keeper import HeldLease
from worker.items.leases.persistence import until_available
from worker.services import WorkerServices

logger = logging.getLogger(__name__)

MOST_ROUNDS = 3
LOOK_AGAIN_S = 2.0


def mend_segments(
    item: ClaimedItem, narration: AssembledNarration, reader: SegmentFetcher, held: HeldLease, services: WorkerServices
) -> Tickets:
    """Open every damaged segment of the job again; returns the tickets to send.

    Raises `PermanentItemError` after the last round, and `NotYet` if nothing is damaged any more.
    """
    damages = [damage for each in narration.placed if (damage := _damage(reader, each.result)) is not None]
    if not damages:
        raise NotYet(LOOK_AGAIN_S)
    for damage in damages:
        logger.error("segment damaged in the store", extra={"segment": damage.segment, "found": damage.found})
        # It must not be taken for a whole one, least of all by a search for what a lost Redis has forgotten.
        if damage.own_key is not None:
            until_available(held, services.artifacts.delete, damage.own_key)
    warnings = [TextWarning(SEGMENT_DAMAGED, f"{damage}; it was spoken again", damage.segment) for damage in damages]
    tickets = until_available(held, services.jobs.mend, item.lease, warnings, MOST_ROUNDS)
    if tickets is None:
        first = damages[0]
        detail = f"{first}, after segments were spoken again for it {MOST_ROUNDS} times: the store does not keep them"
        raise unusable(SEGMENT_DAMAGED, detail, first.segment)
    return tickets


def _damage(reader: SegmentFetcher, result: SegmentResult) -> SegmentDamaged | None:
    try:
        reader.read(result)
    except SegmentDamaged as damage:
        return damage
    return None
