"""Workers and queues as operators see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from api.http.times import moment
from rhapsode.contract.operators.fleet import (
    EngineState,
    QueueClass,
    QueueTotals,
    QueueView,
    VoiceMemory,
    WorkerView,
)
from storage.jobs.work_queues import CPU_QUEUE, HOOKS_QUEUE
from storage.queue.overview import ClassOverview, Overview, QueueOverview
from storage.queue.worker_registry import ListedWorker, WorkerState

Lane = Literal["cpu", "gpu", "hooks"]


def worker_view(listed: ListedWorker) -> WorkerView:
    report = listed.report
    engine, memory = report.engine, report.voice_cache
    return WorkerView(
        name=report.name,
        role=report.role.value,
        state=listed.state.value,
        queue=report.queue,
        model=report.model,
        other_models=report.other_models,
        slots=report.slots,
        leases=report.leases,
        tasks_down=report.tasks_down,
        host=report.host,
        pid=report.pid,
        version=report.version,
        started_at=moment(report.started_at_ms),
        seen_at=moment(listed.seen_at_ms),
        engine=EngineState.model_validate(engine, from_attributes=True) if engine else None,
        voice_cache=VoiceMemory.model_validate(memory, from_attributes=True) if memory else None,
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
        drain_s=round(queue.backlog_ms / 1000 / queue.pace, 1) if queue.pace else None,
        classes=tuple(_class_view(rank.value, each) for rank, each in queue.classes.items()),
    )


def totals_of(overview: Overview, workers: Sequence[ListedWorker]) -> QueueTotals:
    engines = [
        (each.report.engine, each.report.slots or 0) for each in workers if each.state is not WorkerState.UNRESPONSIVE
    ]
    running = [(engine, slots) for engine, slots in engines if engine is not None]
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
        oldest_wait_s=None if seen.oldest_wait_ms is None else seen.oldest_wait_ms / 1000,
    )
