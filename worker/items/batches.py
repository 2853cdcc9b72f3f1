"""The items of a batch: its plan, which is its shards, and one item for each shard, which makes jobs of its lines."""

from __future__ import annotations

import logging
import random
from collections.abc import Sequence

from storage.errors import AdmissionRefused, ArtifactExists, ArtifactMissing, JobGone
from storage.jobs.batch_lines import BatchLine, ShardFormatError, decode_shard
from storage.jobs.batches import SHARD_LINES, BatchSpec
from storage.jobs.submissions import Submission, with_plan
from storage.jobs.tickets import Tickets
from storage.jobs.whole_plan import whole_plan
from storage.jobs.work_items import PLAN_ITEM, ClaimedItem, PlanResult
from storage.narration.spec import NarrationSpec
from storage.objects import keys
from storage.runtime.config.failpoints import failpoint
from worker.errors import NotYet, unusable
from worker.items.leases.keeper import HeldLease
from worker.items.leases.persistence import until_available
from worker.services import WorkerServices

logger = logging.getLogger(__name__)

FULL_S = (1.0, 5.0)
"""When a shard returns that found no room for its jobs: as many unfinished ones as a tenant may have are there."""


def run_batch_item(item: ClaimedItem, spec: BatchSpec, held: HeldLease, services: WorkerServices) -> Tickets:
    """Returns the tickets to send."""
    if item.lease.item == PLAN_ITEM:
        # The shards lie in the store already, and what their jobs will take is counted when these are made.
        result = PlanResult(item.input_key, spec.num_shards, 0)
        return until_available(held, services.jobs.commit_plan, item.lease, result)
    lines = until_available(held, _shard, item, services)
    made = _made_jobs(lines, item, held, services)
    failpoint("batch.before_commit")
    tickets = until_available(held, services.jobs.commit_shard, item.lease)
    logger.info("jobs made", extra={"batch": item.lease.job, "shard": item.lease.item, "jobs": len(lines)})
    return made + tickets


def _made_jobs(lines: Sequence[BatchLine], item: ClaimedItem, held: HeldLease, services: WorkerServices) -> Tickets:
    """A job for each line; those that an earlier try made are found."""
    children = [line.submission.id for line in lines]
    known = until_available(held, services.jobs.get_many, item.lease.tenant, children)
    tickets = Tickets()
    for line, record in zip(lines, known, strict=True):
        if record is None:
            held.check()
            tickets += _made_job(line, held, services)
    return tickets


def _made_job(line: BatchLine, held: HeldLease, services: WorkerServices) -> Tickets:
    submission = _planned(line)
    until_available(held, _store_input, submission.input_key, line, services)
    failpoint("batch.after_input")
    try:
        return until_available(held, services.jobs.submit, submission).tickets
    except AdmissionRefused as error:
        services.artifacts.delete_prefix(keys.job_prefix(submission.tenant, submission.id))
        raise NotYet(random.uniform(*FULL_S)) from error
    except JobGone:
        # Made, ended and deleted, by an earlier try of this shard.
        return Tickets()


def _planned(line: BatchLine) -> Submission:
    """A short text of one segment comes with its plan, and is one item."""
    spec = line.submission.spec
    if not line.may_be_whole or not isinstance(spec, NarrationSpec):
        return line.submission
    whole = whole_plan(line.input, spec)
    return line.submission if whole is None else with_plan(line.submission, whole)


def _store_input(key: str, line: BatchLine, services: WorkerServices) -> None:
    try:
        services.artifacts.put(key, line.input.encode())
    except ArtifactExists:
        # The same bytes, of an earlier try that came no further.
        return


def _shard(item: ClaimedItem, services: WorkerServices) -> tuple[BatchLine, ...]:
    index = int(item.lease.item)
    key = keys.batch_shard(item.lease.tenant, item.lease.job, index)
    try:
        lines = decode_shard(services.artifacts.get(key))
    except ArtifactMissing as error:
        raise unusable("internal", f"shard {index} of the batch is not in the store any more") from error
    except ShardFormatError as error:
        raise unusable("internal", f"shard {index} of the batch is damaged") from error
    if not 0 < len(lines) <= SHARD_LINES:
        raise unusable("internal", f"shard {index} of the batch has {len(lines)} lines")
    return lines
