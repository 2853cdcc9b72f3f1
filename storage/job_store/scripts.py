"""What every part of the job store runs: the scripts, under one client, and their answers as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn, cast

import redis

from storage.database.keys import RedisKeys
from storage.database.redis_errors import redis_errors_named
from storage.database.scripts import SERVER_CLOCK, Argument, Reply, Script, hash_fields
from storage.errors import JobAborted, JobGone, JobNotFound, LeaseLost
from storage.ids import JobId, TenantId, WorkQueue
from storage.job_store.lua_prelude import load_script
from storage.jobs.record import JobRecord, JobSpec
from storage.jobs.record_codec import decode_record
from storage.jobs.submissions import AdmissionLimits
from storage.jobs.tickets import Tickets
from storage.jobs.work_items import Lease

_SCRIPTS = (
    *("submit", "cancel", "pause", "resume", "delete"),
    *("claim", "extend", "commit_plan", "commit_segment", "commit_voice", "commit_shard", "finish", "finish_plan"),
    *("fail", "mend", "postpone", "release", "isolate"),
    *("release_worker", "reap", "recall", "retentions", "counter_audit", "settle_stored"),
)


@dataclass(frozen=True, slots=True)
class Transitioned:
    job: JobRecord
    tickets: Tickets


class JobScripts:
    """The scripts of jobs. Safe to share between threads, as the client is.

    limits: None for a caller that brings back what was accepted before.
    window: the fewest segments of a job that are open at a time; more are while the workers of its model have slots
        for them. clock: Lua source that defines `clock()`; tests put a settable one here.
    """

    def __init__(
        self,
        redis: redis.Redis,
        key_prefix: str = "rhapsode",
        limits: AdmissionLimits | None = AdmissionLimits(),  # noqa: B008 - frozen
        max_attempts: int = 4,
        window: int = 32,
        clock: str = SERVER_CLOCK,
    ) -> None:
        self._redis = redis
        self._keys = RedisKeys(key_prefix)
        self._limits = limits
        self._max_attempts = max_attempts
        self._window = window
        self._scripts: dict[str, Script] = {name: load_script(redis, self._keys, name, clock) for name in _SCRIPTS}

    def _run(self, script: str, *arguments: Argument) -> Reply:
        with redis_errors_named():
            return self._scripts[script].run(*arguments)

    def _raise_missing(self, tenant: TenantId, job_id: JobId) -> NoReturn:
        raise_missing_job(self._redis, self._keys, tenant, job_id)


def raise_missing_job(client: redis.Redis, keys: RedisKeys, tenant: TenantId, job_id: JobId) -> NoReturn:
    """Of a tenant that has no such job: `JobGone` if it had one, else `JobNotFound`."""
    with redis_errors_named():
        tombstone = cast("str | None", client.get(keys.tombstone(job_id)))
    if tombstone == tenant:
        raise JobGone(f"{job_id} was deleted")
    raise JobNotFound(f"there is no job {job_id}")


def transitioned(reply: Reply) -> Transitioned:
    """Of a script that answers with the record."""
    return Transitioned(record_of(reply[2]), tickets_of(reply))


def tickets_or_lost(lease: Lease, reply: Reply) -> Tickets:
    if reply[0] == "lost":
        raise LeaseLost(f"fence {lease.fence} of {lease.item} in {lease.job} is not current")
    if reply[0] == "aborted":
        raise JobAborted(f"{lease.job} ended before fence {lease.fence} of {lease.item} did")
    return tickets_of(reply)


def tickets_of(reply: Reply) -> Tickets:
    ready = cast("list[str | int]", reply[1])
    return Tickets({WorkQueue(str(queue)): int(count) for queue, count in zip(ready[::2], ready[1::2], strict=True)})


def record_of(part: object, known: JobSpec | None = None) -> JobRecord:
    """`part` is as of `hash_fields`, `known` as of `decode_record`."""
    return decode_record(hash_fields(part), known)


def milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
