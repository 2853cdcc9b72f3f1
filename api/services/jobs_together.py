"""Jobs as they are now, for many answers at the same time: when a server stops, all that it held are due at once."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from storage.errors import JobGone, JobNotFound, StorageError
from storage.ids import JobId, TenantId
from storage.job_store.queue_position import QueuePosition, QueuePositions
from storage.job_store.store import JobStore
from storage.jobs.record import JobRecord

BATCH = 128
"""Jobs of one round trip."""

READERS = 2
"""Round trips at the same time: one is sent while the answers to another are read."""

_Asked = tuple[TenantId, JobId]


@dataclass(frozen=True, slots=True)
class JobNow:
    """place: None of a job that has ended."""

    record: JobRecord
    place: QueuePosition | None


class JobsTogether:
    """What is asked for while others are being read is read with what is asked for then. For the event loop."""

    def __init__(self, jobs: JobStore, positions: QueuePositions) -> None:
        self._jobs = jobs
        self._positions = positions
        self._asked: dict[_Asked, asyncio.Future[JobNow | StorageError]] = {}
        self._reading: set[asyncio.Task[None]] = set()

    async def now(self, tenant: TenantId, job_id: JobId) -> JobNow:
        """Raises `JobNotFound` (also for another tenant's job), `JobGone` or `StoreUnavailable`."""
        asked = (tenant, job_id)
        if asked not in self._asked:
            self._asked[asked] = asyncio.get_running_loop().create_future()
        answer = self._asked[asked]
        if len(self._reading) < READERS:
            reading = asyncio.create_task(self._read_all())
            self._reading.add(reading)
            reading.add_done_callback(self._reading.discard)
        # Others may wait for the same answer.
        found = await asyncio.shield(answer)
        if isinstance(found, JobNow):
            return found
        raise found

    async def _read_all(self) -> None:
        while self._asked:
            batch = {asked: self._asked.pop(asked) for asked in tuple(self._asked)[:BATCH]}
            try:
                found = await asyncio.to_thread(self._read, tuple(batch))
            except Exception as error:  # noqa: BLE001 - passed to the callers, which would wait without end
                for answer in batch.values():
                    answer.set_exception(error)
                    # Its asker may have gone.
                    answer.exception()
                continue
            for answer, each in zip(batch.values(), found, strict=True):
                answer.set_result(each)

    def _read(self, asked: Sequence[_Asked]) -> list[JobNow | StorageError]:
        records = self._records(asked)
        found = [records[each] or self._missing(*each) for each in asked]
        waiting = [each for each in found if isinstance(each, JobRecord) and not each.state.is_terminal]
        places = dict(zip((each.id for each in waiting), self._positions.of_jobs(waiting), strict=True))
        return [JobNow(each, places.get(each.id)) if isinstance(each, JobRecord) else each for each in found]

    def _records(self, asked: Sequence[_Asked]) -> dict[_Asked, JobRecord | None]:
        of_tenant: dict[TenantId, list[JobId]] = defaultdict(list)
        for tenant, job_id in asked:
            of_tenant[tenant].append(job_id)
        return {
            (tenant, job_id): record
            for tenant, job_ids in of_tenant.items()
            for job_id, record in zip(job_ids, self._jobs.get_many(tenant, job_ids), strict=True)
        }

    def _missing(self, tenant: TenantId, job_id: JobId) -> JobRecord | StorageError:
        """Why it is."""
        try:
            return self._jobs.get(tenant, job_id)
        except (JobNotFound, JobGone) as error:
            return error
