"""What every part of the job store has: the functions, under one client, and their answers as values."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import NoReturn, cast

import redis

from storage.database.functions import Arguments, Clock, Functions, Reply, Value
from storage.database.keys import RedisKeys
from storage.database.redis_errors import redis_errors_named
from storage.database.shared_calls import SharedCalls
from storage.errors import JobAborted, JobGone, JobNotFound, LeaseLost
from storage.ids import JobId, TenantId, WorkQueue
from storage.jobs.record import JobRecord, JobSpec
from storage.jobs.record_codec import decode_record
from storage.jobs.submissions import AdmissionLimits, IdempotencyKey
from storage.jobs.tickets import Tickets
from storage.jobs.work_items import Lease

IDEMPOTENCY_TTL_S = 24 * 3600


@dataclass(frozen=True, slots=True)
class Transitioned:
    job: JobRecord
    tickets: Tickets


class JobCalls:
    """The functions of jobs. Safe to share between threads, as the client is.

    limits: None for a caller that brings back what was accepted before.
    window: the fewest segments of a job that are open at a time; more are while the workers of its model have slots
        for them. clock: as of `Functions`. accept_replicas: that must have a job before it counts as accepted.
    """

    def __init__(
        self,
        redis: redis.Redis,
        key_prefix: str = "rhapsode",
        limits: AdmissionLimits | None = AdmissionLimits(),  # noqa: B008 - frozen
        max_attempts: int = 4,
        window: int = 32,
        clock: Clock | None = None,
        accept_replicas: int = 0,
    ) -> None:
        self._redis = redis
        self._keys = RedisKeys(key_prefix)
        self._limits = limits
        self._max_attempts = max_attempts
        self._window = window
        self._accept_replicas = accept_replicas
        self._functions = Functions(redis, key_prefix, clock)
        self._settlements = SharedCalls(self._functions)

    def _settle(self, function: str, /, **arguments: Value | None) -> Reply:
        """As `Functions.call`, for what ends an item's lease: where many end at once, several go together."""
        with redis_errors_named():
            return self._settlements.call(function, **arguments)

    def get(self, tenant: TenantId, job_id: JobId) -> JobRecord:
        """Raises `JobNotFound` (also for another tenant's job) or `JobGone`."""
        fields = cast("dict[str, str]", self._redis.hgetall(self._keys.of("job", job_id)))
        if fields.get("tenant") != tenant:
            self._raise_missing(tenant, job_id)
        return decode_record(fields)

    def _raise_missing(self, tenant: TenantId, job_id: JobId) -> NoReturn:
        """Of a tenant that has no such job: `JobGone` if it had one, else `JobNotFound`."""
        if self._redis.get(self._keys.of("tombstone", job_id)) == tenant:
            raise JobGone(f"{job_id} was deleted")
        raise JobNotFound(f"there is no job {job_id}")


def transitioned(reply: Reply) -> Transitioned:
    """Of a function that answers with the record."""
    return Transitioned(record_of(reply), tickets_of(reply))


def lease_arguments(lease: Lease) -> dict[str, str]:
    return {"job": lease.job, "item": lease.item, "fence": str(lease.fence)}


def tickets_or_lost(lease: Lease, reply: Reply) -> Tickets:
    if reply.status == "lost":
        raise LeaseLost(f"fence {lease.fence} of {lease.item} in {lease.job} is not current")
    if reply.status == "aborted":
        raise JobAborted(f"{lease.job} ended before fence {lease.fence} of {lease.item} did")
    return tickets_of(reply)


def tickets_of(reply: Reply) -> Tickets:
    return Tickets({WorkQueue(queue): count for queue, count in reply.counts("tickets").items()})


def record_of(reply: Reply, known: JobSpec | None = None) -> JobRecord:
    """The job of the answer; `known` as of `decode_record`."""
    return decode_record(reply.hash("record"), known)


def key_arguments(idempotency: IdempotencyKey | None) -> Arguments:
    """Of a call that is the same when it is repeated under this key."""
    if idempotency is None:
        return {}
    return {"key": key_sha256(idempotency), "fingerprint": idempotency.fingerprint, "key_ttl_s": IDEMPOTENCY_TTL_S}


def key_sha256(idempotency: IdempotencyKey) -> str:
    return hashlib.sha256(idempotency.key.encode()).hexdigest()


def milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
