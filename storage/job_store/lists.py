"""Pages of a tenant's jobs, and many records at once."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

from pydantic_core import from_json

from rhapsode.contract.jobs.states import JobState
from storage.database.hashes import read_hashes
from storage.database.pages import CHUNK, ListPage, scanned_page
from storage.ids import JobId, TenantId
from storage.job_store.calls import JobCalls
from storage.jobs.record import JobRecord
from storage.jobs.record_codec import decode_record

LIST_SCAN_LIMIT = 2_000
"""Records one `list` call looks at before it hands the cursor back."""


@dataclass(frozen=True, slots=True)
class JobQuery:
    """Filters and paging of a job list. `after` is the id of the last job of the previous page.

    batch: only jobs of this batch, which has to be the tenant's. kind: None for both. queue: of their speech, or None
    for all.
    """

    states: frozenset[JobState] = frozenset()
    created_after_ms: int | None = None
    created_before_ms: int | None = None
    metadata: dict[str, str] = field(default_factory=dict[str, str])
    newest_first: bool = True
    after: JobId | None = None
    limit: int = 20
    batch: JobId | None = None
    kind: Literal["synthesis", "voice_cache"] | None = None
    queue: str | None = None


class JobLists(JobCalls):
    """The part of the job store that lists."""

    def list(self, tenant: TenantId, query: JobQuery) -> ListPage[JobId, JobRecord]:
        """One page of the tenant's jobs by id, which is by age.

        Looks at `LIST_SCAN_LIMIT` records at most: a page that the filters left short may still have successors.
        """
        found = scanned_page(self._chunks(tenant, query), query.limit)
        return ListPage(self._records(found.entries), found.next_after)

    def list_batches(self, tenant: TenantId, after: JobId | None, limit: int) -> ListPage[JobId, JobRecord]:
        """The tenant's batches, newest first."""
        bound = f"({after}" if after else "+"
        ids = self._redis.zrevrangebylex(self._keys.of("batches", tenant), bound, "-", start=0, num=limit + 1)
        wanted = cast("builtins.list[JobId]", ids)
        return ListPage(self._records(wanted[:limit]), wanted[limit - 1] if len(wanted) > limit else None)

    def get_many(self, tenant: TenantId, job_ids: Sequence[JobId]) -> builtins.list[JobRecord | None]:
        """One record, or None, for each id."""
        rows = read_hashes(self._redis, (self._keys.of("job", each) for each in job_ids))
        return [decode_record(row) if row.get("tenant") == tenant else None for row in rows]

    def _chunks(self, tenant: TenantId, query: JobQuery) -> Iterator[builtins.list[tuple[JobId, JobId | None]]]:
        cursor = query.after
        for _ in range(LIST_SCAN_LIMIT // CHUNK):
            ids = self._ids_after(tenant, cursor, query)
            matches = self._match(ids, query)
            yield [(each, each if is_match else None) for each, is_match in zip(ids, matches, strict=True)]
            cursor = ids[-1]

    def _ids_after(self, tenant: TenantId, cursor: JobId | None, query: JobQuery) -> builtins.list[JobId]:
        key = self._keys.of("jobs", tenant) if query.batch is None else self._keys.of("children", query.batch)
        if query.newest_first:
            bound = f"({cursor}" if cursor else "+"
            ids = self._redis.zrevrangebylex(key, bound, "-", start=0, num=CHUNK)
        else:
            bound = f"({cursor}" if cursor else "-"
            ids = self._redis.zrangebylex(key, bound, "+", start=0, num=CHUNK)
        return cast("list[JobId]", ids)

    def _match(self, ids: Sequence[JobId], query: JobQuery) -> builtins.list[bool]:
        pipeline = self._redis.pipeline(transaction=False)
        for job_id in ids:
            pipeline.hmget(self._keys.of("job", job_id), ["state", "created_at_ms", "metadata", "kind", "queue"])
        rows = cast("list[list[str | None]]", pipeline.execute())
        return [_matches(query, *row) for row in rows]

    def _records(self, ids: Sequence[JobId]) -> tuple[JobRecord, ...]:
        rows = read_hashes(self._redis, (self._keys.of("job", each) for each in ids))
        return tuple(decode_record(row) for row in rows if row)  # a job may have been deleted meanwhile


def _matches(
    query: JobQuery,
    state: str | None,
    created_at_ms: str | None,
    metadata: str | None,
    kind: str | None,
    queue: str | None,
) -> bool:
    if state is None or created_at_ms is None or metadata is None:
        return False
    if query.kind is not None and (kind or "synthesis") != query.kind:
        return False
    if query.queue is not None and queue != query.queue:
        return False
    if query.states and JobState(state) not in query.states:
        return False
    if query.created_after_ms is not None and int(created_at_ms) <= query.created_after_ms:
        return False
    if query.created_before_ms is not None and int(created_at_ms) >= query.created_before_ms:
        return False
    return query.metadata.items() <= from_json(metadata).items()
