"""The items of a job that prepares voices: the plan, which asks for every cache, and one item for each voice."""

from __future__ import annotations

import logging
import random
import time

from reading.plan.plan import PlanFormatError
from storage.errors import ArtifactMissing, JobAborted
from storage.ids import TenantId
from storage.job_store.plan_cache import VoicePlan
from storage.jobs.tickets import Tickets
from storage.jobs.work_items import ClaimedItem, Lease, PlanResult
from storage.narration.voice_reference import VOICE_COST_MS, VoiceCacheSpec, VoiceReference
from storage.voices.records import CacheRequest, CacheTarget, ClaimStatus, RequestOutcome
from worker.errors import NotYet, NoVoiceSlot, PermanentItemError, unusable
from worker.items.leases.keeper import HeldLease
from worker.items.leases.persistence import until_available
from worker.planning.voice_waiting import LOOK_AGAIN_S
from worker.services import SpeechServices, WorkerServices

logger = logging.getLogger(__name__)

NO_VOICE_SLOT_S = (0.5, 4.0)
"""When an item returns that found every place taken. A place may be free without a reported end, as in a worker that
has just started. Spread to limit the load on Redis."""


def run_voice_plan(item: ClaimedItem, spec: VoiceCacheSpec, held: HeldLease, services: WorkerServices) -> Tickets:
    """Ask for every cache of the job, then open its window; returns the tickets to send.

    The list of voices is the plan. What the voices have become since the job was accepted is said by their items.
    """
    voices = until_available(held, _voices, item, services)
    wanted = [_request(voice, item.lease.tenant, spec.model_revision) for voice in voices]
    until_available(held, _ask, wanted, item.lease, spec, services)
    result = PlanResult(item.input_key, len(voices), VOICE_COST_MS * len(voices))
    tickets = until_available(held, services.jobs.commit_plan, item.lease, result)
    logger.info("voices planned", extra={"voices": len(voices), "model": spec.model})
    return tickets


def run_voice_item(item: ClaimedItem, spec: VoiceCacheSpec, held: HeldLease, services: SpeechServices) -> Tickets:
    """Make one voice ready; returns the tickets to send."""
    with services.voices.place_to_prepare() as has_place:
        if not has_place:
            raise NoVoiceSlot(random.uniform(*NO_VOICE_SLOT_S))
        return _prepared(item, spec, held, services)


def _prepared(item: ClaimedItem, spec: VoiceCacheSpec, held: HeldLease, services: SpeechServices) -> Tickets:
    started = time.monotonic()
    voice = until_available(held, _voices, item, services.worker)[int(item.lease.item)]
    # Once more, and with this worker's own revision: the job may have waited through an upgrade of the model.
    wanted = [_request(voice, item.lease.tenant, services.engine.info.revision)]
    (outcome,) = until_available(held, _ask, wanted, item.lease, spec, services.worker)
    _require_current(outcome, voice)
    if _prepare(voice, held, services) is ClaimStatus.BUSY:
        raise NotYet(LOOK_AGAIN_S)
    build_ms = round((time.monotonic() - started) * 1000)
    return until_available(held, services.worker.jobs.commit_voice, item.lease, build_ms)


def _prepare(voice: VoiceReference, held: HeldLease, services: SpeechServices) -> ClaimStatus:
    try:
        return services.voices.prepare(voice, held)
    except PermanentItemError as failure:
        # The job says it of one voice among thousands.
        raise unusable(failure.error.code, f"{voice.name}: {failure.error.detail}") from failure


def _voices(item: ClaimedItem, services: WorkerServices) -> VoicePlan:
    try:
        return services.voice_plans.get(item.input_key)
    except ArtifactMissing as error:
        raise unusable("internal", "the job's list of voices is not in the store any more") from error
    except PlanFormatError as error:
        raise unusable("internal", "the job's list of voices in the store is damaged") from error


def _request(voice: VoiceReference, tenant: TenantId, model_revision: str) -> CacheRequest:
    target = CacheTarget(voice.voice, voice.model, voice.mode)
    return CacheRequest(target, voice.revision, model_revision, voice.content(tenant, model_revision))


def _ask(
    wanted: list[CacheRequest], lease: Lease, spec: VoiceCacheSpec, services: WorkerServices
) -> list[RequestOutcome]:
    return services.voice_store.request_caches(lease.tenant, lease.job, wanted, rebuild=spec.rebuild)


def _require_current(outcome: RequestOutcome, voice: VoiceReference) -> None:
    match outcome:
        case RequestOutcome.MISSING:
            raise unusable("voice_not_found", f"the voice {voice.name} was deleted meanwhile")
        case RequestOutcome.MOVED:
            raise unusable("voice_not_found", f"the voice {voice.name} has another recording meanwhile")
        case RequestOutcome.ENDED:
            raise JobAborted("the job that asked for this voice has ended")
        case _:
            return
