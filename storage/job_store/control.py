"""What a user does with a job after it was accepted, beyond pausing and cancelling: one method is one function.

A call that ends in `StoreUnavailable` may have taken effect. Most are idempotent for their own arguments; those that
are not take an `IdempotencyKey`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import cast

from rhapsode.contract.jobs.states import Priority
from storage.database.functions import Arguments, Reply, Value
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
)
from storage.ids import JobId, TenantId
from storage.job_store.calls import JobCalls, Transitioned, key_arguments, transitioned
from storage.jobs.record import JobSpec
from storage.jobs.record_codec import decode_spec, encode_metadata, encode_spec
from storage.jobs.submissions import IdempotencyKey
from storage.jobs.tickets import Tickets
from storage.narration.spec import NarrationSpec
from storage.segments.edits import MAX_TAKES, UNEDITED, SegmentEdit, decode_edit, encode_edit
from storage.segments.results import SegmentReport, encode_report

MOST_RACES = 20
"""Times a change is made again because another one came in between; more than that is no accident."""

Kinds = Mapping[int, str]
"""What changes of a segment, by its index: names as `EventData` lists them, with commas. A segment may be absent."""
NO_KINDS: Kinds = {}

_REFUSALS: dict[str, type[Exception]] = {"begun": StartPassed, "late": StartTooLate, "leased": SegmentBusy}
_REFUSALS.update(unknown=SegmentNotFound, incomplete=SegmentsMissing, mismatch=IdempotencyMismatch)


@dataclass(frozen=True, slots=True)
class JobUpdate:
    """What a PATCH says of a job; None leaves as it is. deadline_ms, not_before_ms: 0 removes it."""

    priority: Priority | None = None
    deadline_ms: int | None = None
    metadata: Mapping[str, str] | None = None
    retention_s: int | None = None
    not_before_ms: int | None = None


class JobControl(JobCalls):
    """Safe to share between threads, as the client is."""

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
            return self._call("retry", tenant, job_id, seen_spec=seen, spec=wanted, **self._bounds)

        return self._settled(tenant, job_id, attempt, "retried")

    def edit(
        self,
        tenant: TenantId,
        job_id: JobId,
        edits: Mapping[int, SegmentEdit],
        recast: Callable[[NarrationSpec], NarrationSpec] | None = None,
        kinds: Kinds = NO_KINDS,
    ) -> Transitioned:
        """Put each segment's edit over its earlier changes. What this changes is generated again: all, or none.

        edits: by index. recast: what they need of the job's cast. kinds: what the events say. Raises `SegmentBusy` if
        a worker speaks one, `SegmentNotFound`, `TooManyTakes`, `StateConflict`, `QuotaExceeded`, `BacklogFull`.
        """

        def attempt() -> Reply | None:
            spec_text, spec = self._narration(tenant, job_id, "edited")
            known = self._edit_texts(job_id, edits)
            wanted = {index: encode_edit(edit.over(decode_edit(known[index]))) for index, edit in edits.items()}
            changed = {index: (known[index], text) for index, text in wanted.items() if text != known[index]}
            if not changed:
                return None
            recast_text = encode_spec(recast(spec)) if recast else spec_text
            return self._change_segments(tenant, job_id, changed, (spec_text, recast_text), kinds, None)

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
            known = self._edit_texts(job_id, [index])[index]
            # A seed that was given for the take before would only give the same again.
            wanted = encode_edit(replace(decode_edit(known), seed=seed, drawn=True))
            specs, kinds = (spec_text, spec_text), {index: "again"}
            return self._change_segments(tenant, job_id, {index: (known, wanted)}, specs, kinds, idempotency)

        return self._settled(tenant, job_id, attempt, "spoken again")

    def select_takes(
        self, tenant: TenantId, job_id: JobId, takes: Mapping[int, int], kinds: Kinds = NO_KINDS
    ) -> Transitioned:
        """Put takes that were made before in place: all, or none. Nothing is spoken. Raises as `edit` does.

        takes: the number of the take by the index of the segment. kinds: as of `edit`.
        """
        self._narration(tenant, job_id, "changed")

        def attempt() -> Reply:
            named: Arguments = {"items": [str(index) for index in takes], "takes": [*takes.values()]}
            changed = [kinds.get(index, "") for index in takes]
            return self._call("select_takes", tenant, job_id, changed=changed, **named, **self._bounds)

        return self._settled(tenant, job_id, attempt, "changed")

    def select_rejected(
        self, tenant: TenantId, job_id: JobId, index: int, fence: int, kept: SegmentReport
    ) -> Transitioned:
        """Take a rejected attempt of a failed segment for its result. Raises as `edit` does.

        fence: of the failure; the attempt lies under it as a segment. A job under way is refused.
        """
        line, rate_hz = f"D{fence}:{encode_report(kept)}", kept.sample_rate_hz

        def attempt() -> Reply:
            more: Arguments = {"item": str(index), "fence": str(fence), "line": line, "sample_rate_hz": rate_hz}
            return self._call("select_rejected", tenant, job_id, **more)

        return self._settled(tenant, job_id, attempt, "changed")

    def assemble(
        self,
        tenant: TenantId,
        job_id: JobId,
        change: Callable[[NarrationSpec], NarrationSpec],
        idempotency: IdempotencyKey | None,
    ) -> Transitioned:
        """Make the artifacts again from the existing segments, with the output that `change` puts into the spec.

        Raises `SegmentsMissing`, `StateConflict`, `IdempotencyMismatch`, `QuotaExceeded`, `BacklogFull`.
        """

        def attempt() -> Reply:
            seen, spec = self._narration(tenant, job_id, "assembled")
            more: Arguments = {"seen_spec": seen, "spec": encode_spec(change(spec))}
            return self._call("reassemble", tenant, job_id, **more, **key_arguments(idempotency), **self._bounds)

        return self._settled(tenant, job_id, attempt, "assembled")

    def patch(self, tenant: TenantId, job_id: JobId, changes: JobUpdate) -> Transitioned:
        """Raises `StateConflict` once the job has ended; of a time to start also once that has come (`StartPassed`), or
        if the job would start after its deadline (`StartTooLate`).
        """
        wanted: Arguments = {
            "priority": changes.priority,
            "deadline_ms": changes.deadline_ms,
            "metadata": None if changes.metadata is None else encode_metadata(dict(changes.metadata)),
            "retention_s": changes.retention_s or None,
            "not_before_ms": changes.not_before_ms,
        }
        return self._settled(tenant, job_id, lambda: self._call("patch", tenant, job_id, **wanted), "changed")

    def _change_segments(
        self,
        tenant: TenantId,
        job_id: JobId,
        edits: Mapping[int, tuple[str, str]],
        specs: tuple[str, str],
        kinds: Kinds,
        idempotency: IdempotencyKey | None,
    ) -> Reply:
        """edits, specs: as they were seen, and from now on."""
        return self._call(
            "edit_segments",
            tenant,
            job_id,
            items=[str(index) for index in edits],
            seen_edits=[seen for seen, _ in edits.values()],
            edits=[wanted for _, wanted in edits.values()],
            changed=[kinds.get(index, "") for index in edits],
            seen_spec=specs[0],
            spec=specs[1],
            most_takes=MAX_TAKES,
            **key_arguments(idempotency),
            **self._bounds,
        )

    def _settled(
        self, tenant: TenantId, job_id: JobId, attempt: Callable[[], Reply | None], action: str
    ) -> Transitioned:
        """Repeats what was overtaken; an attempt without a reply has nothing to change."""
        for _ in range(MOST_RACES):
            reply = attempt()
            if reply is None:
                return Transitioned(self.get(tenant, job_id), Tickets())
            if reply.status != "changed":
                self._raise_for(reply, tenant, job_id, action)
                return transitioned(reply)
        raise StateConflict("changed by other calls all the time", action)

    def _raise_for(self, reply: Reply, tenant: TenantId, job_id: JobId, action: str) -> None:
        match reply.status:
            case "ok":
                return
            case "missing":
                self._raise_missing(tenant, job_id)
            case "gone":
                raise JobGone(f"the retention of {job_id} is over")
            case "conflict":
                raise StateConflict(reply.text("state"), action)
            case "full":
                raise TooManyTakes(MAX_TAKES)
            case "refused":
                raise reply.refusal()
            case status:
                raise _REFUSALS.get(status, RuntimeError(f"a function answered {status!r}"))

    def _narration(self, tenant: TenantId, job_id: JobId, action: str) -> tuple[str, NarrationSpec]:
        text = self._spec(tenant, job_id)
        spec = decode_spec(text)
        if not isinstance(spec, NarrationSpec):
            raise StateConflict("of a kind that speaks nothing", action)
        if spec.request.validate_only:
            raise StateConflict("only a plan", action)
        return text, spec

    def _spec(self, tenant: TenantId, job_id: JobId) -> str:
        owner, spec = cast("list[str | None]", self._redis.hmget(self._keys.of("job", job_id), ["tenant", "spec"]))
        if owner != tenant or spec is None:
            self._raise_missing(tenant, job_id)
        return spec

    def _edit_texts(self, job_id: JobId, indexes: Iterable[int]) -> dict[int, str]:
        names = [str(index) for index in indexes]
        texts = cast("list[str | None]", self._redis.hmget(self._keys.of("edits", job_id), names))
        return {int(name): text or encode_edit(UNEDITED) for name, text in zip(names, texts, strict=True)}

    @property
    def _bounds(self) -> Arguments:
        return {"limits": self._limits and asdict(self._limits), "window": self._window}

    def _call(self, function: str, tenant: TenantId, job_id: JobId, /, **arguments: Value | None) -> Reply:
        return self._functions.call(function, job=job_id, tenant=tenant, **arguments)
