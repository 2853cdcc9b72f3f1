"""What a user does with a job after it was accepted, beyond pausing and cancelling: one method is one script.

A call that ends in `StoreUnavailable` may have taken effect. Most are idempotent for their own arguments; those that
are not take an `IdempotencyKey`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import cast

import redis

from rhapsode.contract.jobs.states import Priority
from storage.database.keys import RedisKeys
from storage.database.redis_errors import redis_errors_named
from storage.database.scripts import SERVER_CLOCK, Argument, Reply, Script
from storage.errors import (
    IdempotencyMismatch,
    JobGone,
    SegmentBusy,
    SegmentNotFound,
    SegmentsMissing,
    StartPassed,
    StartTooLate,
    StateConflict,
    TooManyTakes,
    refusal_of,
)
from storage.ids import JobId, TenantId
from storage.job_store.lua_prelude import load_script
from storage.job_store.scripts import Transitioned, raise_missing_job, transitioned
from storage.job_store.submit import IDEMPOTENCY_TTL_S
from storage.jobs.record import JobSpec
from storage.jobs.record_codec import decode_record, decode_spec, encode_metadata, encode_spec
from storage.jobs.submissions import AdmissionLimits, IdempotencyKey
from storage.jobs.tickets import Tickets
from storage.narration.spec import NarrationSpec
from storage.segments.edits import MAX_TAKES, UNEDITED, SegmentEdit, decode_edit, encode_edit

_SCRIPTS = ("retry", "edit_segment", "take_select", "reassemble", "patch")

MOST_RACES = 20
"""Times a change is made again because another one came in between; more than that is no accident."""


@dataclass(frozen=True, slots=True)
class JobChanges:
    """What a PATCH says of a job; None leaves as it is. deadline_ms, not_before_ms: 0 removes it."""

    priority: Priority | None = None
    deadline_ms: int | None = None
    metadata: Mapping[str, str] | None = None
    retention_s: int | None = None
    not_before_ms: int | None = None


class JobControl:
    """Safe to share between threads, as the client is. Arguments as of `JobStore`."""

    def __init__(
        self,
        redis: redis.Redis,
        key_prefix: str = "rhapsode",
        limits: AdmissionLimits = AdmissionLimits(),  # noqa: B008 - frozen
        window: int = 32,
        clock: str = SERVER_CLOCK,
    ) -> None:
        self._redis = redis
        self._keys = RedisKeys(key_prefix)
        self._limits = limits.packed
        self._window = window
        self._scripts: dict[str, Script] = {
            name: load_script(redis, self._keys, name, clock, ("control_prelude",)) for name in _SCRIPTS
        }

    def retry(
        self, tenant: TenantId, job_id: JobId, change: Callable[[JobSpec], JobSpec] | None = None
    ) -> Transitioned:
        """Do what a failed, cancelled or expired job lacks; what it has is kept. Under way already: no error.

        change: another spec for what is done from now on. Raises `StateConflict` for a job that succeeded, or that
        works with another spec; `QuotaExceeded`, `BacklogFull`.
        """

        def attempt() -> Reply:
            seen = self._spec(tenant, job_id)
            wanted = encode_spec(change(decode_spec(seen))) if change else seen
            return self._run("retry", job_id, tenant, seen, wanted, self._limits, self._window)

        return self._settled(tenant, job_id, attempt, "retried")

    def edit(
        self,
        tenant: TenantId,
        job_id: JobId,
        index: int,
        edit: SegmentEdit,
        recast: Callable[[NarrationSpec], NarrationSpec] | None = None,
    ) -> Transitioned:
        """Put `edit` over what was said of the segment before; if that changes anything, it is spoken anew.

        recast: what the edit needs of the job's cast. Raises `SegmentBusy` while a worker speaks it, `SegmentNotFound`,
        `TooManyTakes`, `StateConflict`, `QuotaExceeded`, `BacklogFull`.
        """

        def attempt() -> Reply | None:
            spec_text, spec = self._narration(tenant, job_id, "edited")
            known = self._edit_text(job_id, index)
            wanted = encode_edit(edit.over(decode_edit(known)))
            if wanted == known:
                return None
            recast_text = encode_spec(recast(spec)) if recast else spec_text
            return self._change_segment(tenant, job_id, index, (known, wanted), (spec_text, recast_text), None)

        return self._settled(tenant, job_id, attempt, "edited")

    def regenerate(
        self, tenant: TenantId, job_id: JobId, index: int, seed: int | None, idempotency: IdempotencyKey | None
    ) -> Transitioned:
        """Another take of the segment as it is, with `seed` or one that follows from the take's number.

        A segment that is not done yet is going to be spoken anyway: it only gets the seed. Raises as `edit` does, and
        `IdempotencyMismatch`.
        """

        def attempt() -> Reply:
            spec_text, _ = self._narration(tenant, job_id, "spoken again")
            known = self._edit_text(job_id, index)
            # A seed that was given for the take before would only give the same again.
            wanted = encode_edit(replace(decode_edit(known), seed=seed, drawn=True))
            return self._change_segment(tenant, job_id, index, (known, wanted), (spec_text, spec_text), idempotency)

        return self._settled(tenant, job_id, attempt, "spoken again")

    def select_take(self, tenant: TenantId, job_id: JobId, index: int, take: int) -> Transitioned:
        """Put a take that was made before in place; nothing is spoken. Raises as `edit` does."""
        self._narration(tenant, job_id, "changed")

        def attempt() -> Reply:
            return self._run("take_select", job_id, tenant, index, take, self._limits, self._window)

        return self._settled(tenant, job_id, attempt, "changed")

    def assemble(
        self,
        tenant: TenantId,
        job_id: JobId,
        change: Callable[[NarrationSpec], NarrationSpec],
        idempotency: IdempotencyKey | None,
    ) -> Transitioned:
        """Make the artifacts anew from the segments there are, with the output that `change` puts into the spec.

        Raises `SegmentsMissing`, `StateConflict`, `IdempotencyMismatch`, `QuotaExceeded`, `BacklogFull`.
        """

        def attempt() -> Reply:
            seen, spec = self._narration(tenant, job_id, "assembled")
            wanted = encode_spec(change(spec))
            key = self._key_arguments(idempotency)
            return self._run("reassemble", job_id, tenant, seen, wanted, *key, self._limits, self._window)

        return self._settled(tenant, job_id, attempt, "assembled")

    def patch(self, tenant: TenantId, job_id: JobId, changes: JobChanges) -> Transitioned:
        """Raises `StateConflict` once the job has ended; of a time to start also once that has come (`StartPassed`), or
        if the job would start after its deadline (`StartTooLate`).
        """
        metadata = "" if changes.metadata is None else encode_metadata(dict(changes.metadata))
        arguments = (
            changes.priority or "",
            _time(changes.deadline_ms),
            metadata,
            changes.retention_s or "",
            _time(changes.not_before_ms),
        )
        return self._settled(tenant, job_id, lambda: self._run("patch", job_id, tenant, *arguments), "changed")

    def _change_segment(
        self,
        tenant: TenantId,
        job_id: JobId,
        index: int,
        edits: tuple[str, str],
        specs: tuple[str, str],
        idempotency: IdempotencyKey | None,
    ) -> Reply:
        key = self._key_arguments(idempotency)
        limits = (self._limits, self._window)
        return self._run("edit_segment", job_id, tenant, index, *edits, *specs, MAX_TAKES, *key, *limits)

    def _settled(
        self, tenant: TenantId, job_id: JobId, attempt: Callable[[], Reply | None], action: str
    ) -> Transitioned:
        """Repeats what was overtaken; an attempt without a reply has nothing to change."""
        for _ in range(MOST_RACES):
            reply = attempt()
            if reply is None:
                return Transitioned(decode_record(self._record_fields(tenant, job_id)), Tickets())
            if reply[0] != "changed":
                self._raise_for(reply, tenant, job_id, action)
                return transitioned(reply)
        raise StateConflict("changed by other calls all the time", action)

    def _raise_for(self, reply: Reply, tenant: TenantId, job_id: JobId, action: str) -> None:
        match reply[0]:
            case "ok":
                return
            case "missing":
                raise_missing_job(self._redis, self._keys, tenant, job_id)
            case "gone":
                raise JobGone(f"the retention of {job_id} is over")
            case "conflict":
                raise StateConflict(str(reply[2]), action)
            case "begun":
                raise StartPassed
            case "late":
                raise StartTooLate
            case "leased":
                raise SegmentBusy
            case "unknown":
                raise SegmentNotFound
            case "full":
                raise TooManyTakes(MAX_TAKES)
            case "incomplete":
                raise SegmentsMissing
            case "mismatch":
                raise IdempotencyMismatch
            case "refused":
                raise refusal_of(reply[2:])
            case status:
                raise RuntimeError(f"a script answered {status!r}")

    def _narration(self, tenant: TenantId, job_id: JobId, action: str) -> tuple[str, NarrationSpec]:
        text = self._spec(tenant, job_id)
        spec = decode_spec(text)
        if not isinstance(spec, NarrationSpec):
            raise StateConflict("of a kind that speaks nothing", action)
        if spec.validate_only:
            raise StateConflict("only a plan", action)
        return text, spec

    def _spec(self, tenant: TenantId, job_id: JobId) -> str:
        with redis_errors_named():
            row = cast("list[str | None]", self._redis.hmget(self._keys.job(job_id), ["tenant", "spec"]))
        owner, spec = row
        if owner != tenant or spec is None:
            raise_missing_job(self._redis, self._keys, tenant, job_id)
        return spec

    def _record_fields(self, tenant: TenantId, job_id: JobId) -> dict[str, str]:
        with redis_errors_named():
            fields = cast("dict[str, str]", self._redis.hgetall(self._keys.job(job_id)))
        if fields.get("tenant") != tenant:
            raise_missing_job(self._redis, self._keys, tenant, job_id)
        return fields

    def _edit_text(self, job_id: JobId, index: int) -> str:
        with redis_errors_named():
            return cast("str | None", self._redis.hget(self._keys.edits(job_id), str(index))) or encode_edit(UNEDITED)

    @staticmethod
    def _key_arguments(idempotency: IdempotencyKey | None) -> tuple[Argument, ...]:
        if idempotency is None:
            return ("", "", IDEMPOTENCY_TTL_S)
        digest = hashlib.sha256(idempotency.key.encode()).hexdigest()
        return (digest, idempotency.fingerprint, IDEMPOTENCY_TTL_S)

    def _run(self, script: str, *arguments: Argument) -> Reply:
        with redis_errors_named():
            return self._scripts[script].run(*arguments)


def _time(unix_ms: int | None) -> Argument:
    """As the script takes it."""
    if unix_ms is None:
        return ""
    return unix_ms or "none"
