"""Run a claimed item and say what became of it; every outcome has one line here. And the ticket for one such item."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from functools import partial

from storage.errors import JobAborted, JobGone, JobNotFound, LeaseLost, StoreUnavailable
from storage.job_store.object_folders import destination_of
from storage.job_store.store import JobStore
from storage.jobs.record import JobError
from storage.jobs.states import CALLERS_FAULTS
from storage.jobs.tickets import Tickets
from storage.jobs.work_items import ASSEMBLE_ITEM, PLAN_ITEM, ClaimedItem, Lease, ReleaseReason
from storage.objects import keys
from storage.runtime.config.failpoints import failpoint
from storage.runtime.observability.logs import item_fields
from storage.runtime.observability.tracing import span
from worker.engine.errors import EngineDied, EngineUnavailable
from worker.errors import FAULT, NotYet, NoVoiceSlot, PermanentItemError
from worker.items.leases.keeper import DropReason, HeldLease, WorkDropped
from worker.items.leases.persistence import settle
from worker.metrics import ItemMeter
from worker.services import WorkerServices
from worker.speech.postprocessing.dispatch import PostProcessorsClosed

logger = logging.getLogger(__name__)

RETRY_DELAYS_S = (1.0, 4.0, 15.0, 60.0)
"""Upper bounds by attempt; the delay is drawn from the whole range below, so that retries spread."""

STORE_PAUSE_S = (4.0, 60.0)
"""An item that a store did not serve waits at least and at most so long. It is the store's fault and not its own, so no
attempt is charged, however long that lasts: a job's deadline ends it, or its owner."""

SHUTDOWN_PATIENCE_S = 2.0

TICKET_LIFE_S = 60.0
"""How long one ticket goes on with items: far below the broker's visibility timeout, after which it would be restored.
A message costs three times what claiming an item does, so a busy worker does without."""

Run = Callable[[ClaimedItem, HeldLease], Tickets]


def run_ticket(services: WorkerServices, run: Run) -> None:
    """One item; and as long as an item has made another one ready in this queue, this is that one's ticket too."""
    until_s = time.monotonic() + TICKET_LIFE_S
    while services.claims:
        item = claim(services)
        if item is None:
            return
        made = run_item(item, services, run)
        if not made[services.queue] or not services.claims or time.monotonic() > until_s:
            services.tickets.send(made)
            return
        services.tickets.send(made - Tickets((services.queue,)))


def claim(services: WorkerServices) -> ClaimedItem | None:
    try:
        claim = services.jobs.claim(services.queue, services.identity, services.lease_s)
    except StoreUnavailable as error:
        # The janitor sends another ticket once Redis answers again.
        logger.warning("nothing claimed", extra={"queue": services.queue, "error": str(error)})
        return None
    failpoint("claim.after")
    services.tickets.send(claim.tickets)
    return claim.item


def run_item(item: ClaimedItem, services: WorkerServices, run: Run) -> Tickets:
    """Run under the lease and settle; returns the tickets to send. Never raises for the item's own failure."""
    lease, began_s = item.lease, time.monotonic()
    with (
        item_fields(lease.job, lease.item, item.attempt, lease.tenant),
        ItemMeter(item, services.queue) as meter,
        span(f"item {meter.kind}", item.trace, job=lease.job, item=lease.item, attempt=item.attempt),
        services.leases.hold(lease) as held,
    ):
        try:
            with services.gate.admitted(item, held, services.jobs):
                return run(item, held)
        except WorkDropped as dropped:
            meter.outcome = "dropped"
            if dropped.reason is not DropReason.SHUTDOWN:
                logger.info("work dropped", extra={"reason": dropped.reason.value})
                return Tickets()
            verdict = partial(services.jobs.release, lease, ReleaseReason.SHUTDOWN)
        except (LeaseLost, JobAborted) as error:
            meter.outcome = "refused"
            logger.info("result refused", extra={"reason": type(error).__name__})
            _discard(item, services)
            return Tickets()
        except (JobGone, JobNotFound) as error:
            meter.outcome = "vanished"
            logger.info("job vanished", extra={"reason": type(error).__name__})
            return Tickets()
        except (EngineUnavailable, PostProcessorsClosed) as error:
            meter.outcome = "released"
            logger.warning("handed back", extra={"error": str(error)})
            # No engine died of the item, so this is no suspicion against it.
            verdict = partial(services.jobs.release, lease, ReleaseReason.SHUTDOWN)
        except EngineDied as error:
            meter.outcome = "engine_died"
            logger.warning("engine died", extra={"error": str(error)})
            verdict = partial(services.jobs.release, lease, ReleaseReason.ENGINE_DIED)
        except NotYet as error:
            meter.outcome = "postponed"
            waits_for_slot = isinstance(error, NoVoiceSlot)
            verdict = partial(services.jobs.postpone, lease, error.delay_s, waits_for_voice_slot=waits_for_slot)
        except PermanentItemError as error:
            meter.outcome = "failed"
            verdict = _failed(services.jobs, lease, error)
        except StoreUnavailable as error:
            meter.outcome = "postponed"
            logger.warning("store unavailable", extra={"error": str(error)})
            verdict = partial(services.jobs.postpone, lease, _pause_s(time.monotonic() - began_s))
        except Exception:
            meter.outcome = "retried"
            logger.exception("item failed unexpectedly")
            verdict = _retried(services.jobs, item, JobError("internal", FAULT))
        return _settled(verdict, services)


def _told_of(failure: PermanentItemError) -> dict[str, str]:
    """For the log: what the job shows, and the cause that its owner does not see."""
    cause = failure.__cause__
    told = {"code": failure.error.code, "error": failure.error.detail}
    return told | ({"cause": f"{type(cause).__name__}: {cause}"} if cause is not None else {})


def _pause_s(spent_s: float) -> float:
    """How long an item waits for a store: about as long as its try took, so that half of the time is left to others."""
    shortest_s, longest_s = STORE_PAUSE_S
    return random.uniform(0.5, 1.0) * min(max(spent_s, shortest_s), longest_s)


def _discard(item: ClaimedItem, services: WorkerServices) -> None:
    """Delete what was stored for a result that was refused: the job may be deleted already, with all it stored.

    Only after a refusal, which says that the result was never taken. Work that is dropped proves nothing: its result
    may have been taken and the answer lost.
    """
    lease, artifacts = item.lease, services.artifacts
    try:
        if lease.item == PLAN_ITEM:
            # Of a job that prepares voices nothing lies there, which is no error.
            for key in (keys.plan(lease), keys.plan_text(lease), keys.plan_cover(lease)):
                artifacts.delete(key)
            artifacts.delete_prefix(keys.artifacts_prefix(lease))
        elif lease.item == ASSEMBLE_ITEM:
            artifacts.delete_prefix(keys.artifacts_prefix(lease, destination_of(item.spec)))
        elif lease.item.isdecimal():
            artifacts.delete(keys.segment(lease.tenant, lease.job, int(lease.item), lease.fence))
            if _is_deleted(lease, services.jobs):
                # In the packs of any other job may lie what was taken.
                artifacts.delete_prefix(keys.packs_prefix(lease.tenant, lease.job))
            if item.plan_document:
                artifacts.delete_prefix(keys.artifacts_prefix(lease, destination_of(item.spec)))
    except StoreUnavailable as error:
        # It goes with its job, or with the janitor's sweep for orphans.
        logger.warning("refused result left in the store", extra={"error": str(error)})


def _is_deleted(lease: Lease, jobs: JobStore) -> bool:
    """Not of a job that Redis merely does not know: it may have lost its memory."""
    try:
        jobs.get(lease.tenant, lease.job)
    except JobGone:
        return True
    except JobNotFound:
        return False
    return False


def _settled(verdict: Callable[[], Tickets], services: WorkerServices) -> Tickets:
    """Say the verdict; if it cannot be said, the lease runs out and the item is given to another worker."""
    patience_s = SHUTDOWN_PATIENCE_S if services.closing.is_set() else services.lease_s
    try:
        return settle(patience_s, verdict)
    except (LeaseLost, JobAborted) as error:
        logger.info("verdict refused", extra={"reason": type(error).__name__})
    except StoreUnavailable as error:
        logger.error("verdict not delivered", extra={"error": str(error)})
    return Tickets()


def _failed(jobs: JobStore, lease: Lease, failure: PermanentItemError) -> Callable[[], Tickets]:
    """What is refused is no failure: a call has changed the job meanwhile, and so what was read of it in pieces."""

    def fail() -> Tickets:
        tickets = jobs.fail(lease, failure.error)
        # No alarm for what a caller got wrong: the job says it to them.
        level = logging.INFO if failure.error.code in CALLERS_FAULTS else logging.ERROR
        logger.log(level, "item failed for good", extra=_told_of(failure))
        return tickets

    return fail


def _retried(jobs: JobStore, item: ClaimedItem, error: JobError) -> Callable[[], Tickets]:
    longest_s = RETRY_DELAYS_S[min(item.attempt, len(RETRY_DELAYS_S)) - 1]
    delay_s = random.uniform(0, longest_s)
    return lambda: jobs.retry_later(item.lease, error, delay_s)
