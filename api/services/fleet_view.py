"""Workers and queues as operators see them."""

from __future__ import annotations

import heapq
import statistics
from collections.abc import Sequence
from typing import Literal

from api.http.times import moment
from rhapsode.contract.operators.fleet import (
    FleetMinute,
    QueueClass,
    QueueTenant,
    QueueTotals,
    QueueView,
    WorkerView,
)
from storage.jobs.work_queues import CPU_QUEUE, HOOKS_QUEUE
from storage.queue.overview import ClassOverview, Overview, QueueOverview
from storage.queue.worker_registry import ListedWorker, WorkerReport, WorkerState

Lane = Literal["cpu", "gpu", "hooks"]

MOST_TENANTS = 10


def worker_view(listed: ListedWorker) -> WorkerView:
    report = listed.report
    return WorkerView(
        name=report.name,
        role=report.role.value,
        state=listed.state.value,
        queue=report.queue,
        model=report.model,
        other_models=report.other_models,
        slots=report.slots,
        leases=report.leases,
        live_slots=report.live_slots if report.addresses else None,
        live_streams=report.live_streams if report.addresses else None,
        tasks_down=report.tasks_down,
        host=report.host,
        pid=report.pid,
        version=report.version,
        started_at=moment(report.started_at_ms),
        seen_at=moment(listed.seen_at_ms),
        engine=report.engine,
        voice_cache=report.voice_cache,
    )


def queue_view(queue: QueueOverview, workers: Sequence[ListedWorker], tickets: int | None) -> QueueView:
    mine = [
        each.report
        for each in workers
        if each.report.queue == queue.name and each.state not in (WorkerState.LOADING, WorkerState.UNRESPONSIVE)
    ]
    return QueueView(
        name=queue.name,
        lane=lane_of(queue.name),
        model=next((report.model for report in mine if report.model), None),
        ready_items=queue.ready_items,
        leased_items=sum(report.leases for report in mine),
        tickets=tickets,
        slots=queue.slots,
        workers=len(mine),
        pace=round(queue.pace, 3) or None,
        drain_s=_rounded(queue.drain_s),
        classes=tuple(_class_view(rank.value, each) for rank, each in queue.classes.items()),
    )


def totals_of(overview: Overview, workers: Sequence[ListedWorker]) -> QueueTotals:
    reports = _reports_of_responsive(workers)
    running = [(report.engine, report.slots or 0) for report in reports if report.engine is not None]
    drains = [queue.drain_s for queue in overview.queues]
    known = [drain_s for drain_s in drains if drain_s is not None]
    slots = sum(slots for _, slots in running)
    filled = sum((engine.batch_fill or 0.0) * slots for engine, slots in running)
    return QueueTotals(
        unfinished_jobs=overview.unfinished_jobs,
        scheduled_jobs=overview.scheduled_jobs,
        backlog_audio_s=sum(queue.backlog_ms for queue in overview.queues) / 1000,
        leases=overview.leases,
        retries_waiting=overview.retries_waiting,
        dead_letters=overview.dead_letters,
        audio_s_per_s=round(sum(engine.audio_s_per_s or 0.0 for engine, _ in running), 3),
        batch_fill=round(filled / slots, 4) if slots else None,
        claims_held=overview.claims_held,
        drain_s=_rounded(max(known, default=0.0)) if len(known) == len(drains) else None,
        live_streams=sum(report.live_streams for report in reports),
        live_slots=sum(report.live_slots for report in reports),
    )


def largest_tenants(overview: Overview) -> tuple[QueueTenant, ...]:
    largest = heapq.nlargest(
        MOST_TENANTS, overview.tenants.items(), key=lambda each: (each[1].backlog_ms, each[1].jobs)
    )
    return tuple(QueueTenant(tenant=name, jobs=held.jobs, audio_s=held.backlog_ms / 1000) for name, held in largest)


def minute_of(
    overview: Overview, workers: Sequence[ListedWorker], at_ms: int, audio_s_per_s: float | None, given_up: int
) -> FleetMinute:
    """A point of the history. at_ms: begin of its minute, Unix ms. audio_s_per_s, given_up: as in `FleetMinute`."""
    totals = totals_of(overview, workers)
    reports = _reports_of_responsive(workers)
    steps = [report.engine.step_ms for report in reports if report.engine and report.engine.step_ms is not None]
    classes = [seen for queue in overview.queues for seen in queue.classes.values()]
    slowest = max(classes, key=lambda seen: -1 if seen.oldest_wait_ms is None else seen.oldest_wait_ms)
    return FleetMinute(
        at=moment(at_ms),
        workers=len(reports),
        audio_s_per_s=_rounded(audio_s_per_s, 3),
        batch_fill=totals.batch_fill,
        step_ms_p50=round(statistics.median(steps), 2) if steps else None,
        step_ms_most=round(max(steps), 2) if steps else None,
        backlog_audio_s=totals.backlog_audio_s,
        drain_s=totals.drain_s,
        unfinished_jobs=totals.unfinished_jobs,
        leases=totals.leases,
        retries_waiting=totals.retries_waiting,
        live_streams=totals.live_streams,
        oldest_wait_s=_seconds(slowest.oldest_wait_ms),
        wait_p50_s=_seconds(slowest.wait_p50_ms),
        wait_p95_s=_seconds(slowest.wait_p95_ms),
        given_up=given_up,
        dead_letters=totals.dead_letters,
    )


def lane_of(queue: str) -> Lane:
    if queue == CPU_QUEUE:
        return "cpu"
    return "hooks" if queue == HOOKS_QUEUE else "gpu"


def _class_view(name: Literal["interactive", "bulk"], seen: ClassOverview) -> QueueClass:
    return QueueClass(
        job_class=name,
        backlog_audio_s=seen.backlog_ms / 1000,
        jobs=seen.jobs,
        tenants=seen.tenants,
        oldest_wait_s=_seconds(seen.oldest_wait_ms),
        wait_p50_s=_seconds(seen.wait_p50_ms),
        wait_p95_s=_seconds(seen.wait_p95_ms),
    )


def _reports_of_responsive(workers: Sequence[ListedWorker]) -> Sequence[WorkerReport]:
    return [each.report for each in workers if each.state is not WorkerState.UNRESPONSIVE]


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


def _rounded(value: float | None, digits: int = 1) -> float | None:
    return None if value is None else round(value, digits)
