"""`client.batches`: many jobs in one file, all of them or none."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from pathlib import Path

import httpx

from rhapsode.client.batches import calls as batch_calls
from rhapsode.client.batches.calls import BatchResult
from rhapsode.client.batches.results import read_results, read_results_async
from rhapsode.client.connection import Connection
from rhapsode.client.voices.async_voices import AsyncSend
from rhapsode.client.voices.voices import Send
from rhapsode.contract.batches import Batch
from rhapsode.contract.uploads import Upload
from rhapsode.errors import BatchWaitTimedOut

FIRST_PAUSE_S = 0.2
LAST_PAUSE_S = 5.0


class Batches:
    """A file of a batch holds one job request a line, as JSON, with a `custom_id` of your own beside its fields."""

    def __init__(
        self, send: Send, upload: Callable[[Path], Upload], http: httpx.Client, connection: Connection
    ) -> None:
        self._send = send
        self._upload = upload
        self._http = http
        self._connection = connection

    def submit(
        self,
        path: str | Path,
        *,
        retention_s: int | None = None,
        metadata: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> Batch:
        """Upload the file and have its lines made into jobs. Returns once every line was checked, none has run.

        retention_s: how long the batch is kept after its end, the jobs have their own. idempotency_key: the same key
        and the same file within 24 hours are the batch that they made first, also from another process. Raises
        `OSError`, or `InvalidRequest` that names lines at fault; nothing runs then.
        """
        sha256 = batch_calls.file_sha256(Path(path))
        upload = self._upload(Path(path)).id
        return self._send(batch_calls.order_batch(upload, sha256, retention_s, metadata, idempotency_key))

    def get(self, batch: Batch | str) -> Batch:
        return self._send(batch_calls.get_batch(_id(batch)))

    def list(self, *, page_size: int = 50) -> Iterator[Batch]:
        """The newest first, fetched page by page."""
        cursor: str | None = None
        while True:
            page = self._send(batch_calls.list_batches(page_size, cursor))
            yield from page.data
            cursor = page.next_cursor
            if cursor is None or not page.has_more:
                return

    def cancel(self, batch: Batch | str) -> Batch:
        """No further line becomes a job, and those that have not ended are cancelled."""
        return self._send(batch_calls.cancel_batch(_id(batch)))

    def delete(self, batch: Batch | str) -> None:
        """Forget a batch that has ended; its jobs stay. Raises `Conflict` for one that has not."""
        self._send(batch_calls.delete_batch(_id(batch)))

    def results(self, batch: Batch | str) -> Iterator[BatchResult]:
        """One for each line of the file, in its order, as they stand now; the batch need not have ended."""
        return read_results(self._http, self._connection, _id(batch))

    def wait(self, batch: Batch | str, *, timeout_s: float | None = None) -> Batch:
        """The batch once all its jobs have ended, however they did. Raises `BatchWaitTimedOut`."""
        pauses = _Pauses(timeout_s)
        while True:
            seen = self.get(batch)
            if seen.state.is_terminal:
                return seen
            time.sleep(pauses.next_s(seen))


class AsyncBatches:
    """As `Batches`, awaited."""

    def __init__(
        self,
        send: AsyncSend,
        upload: Callable[[Path], Awaitable[Upload]],
        http: httpx.AsyncClient,
        connection: Connection,
    ) -> None:
        self._send = send
        self._upload = upload
        self._http = http
        self._connection = connection

    async def submit(
        self,
        path: str | Path,
        *,
        retention_s: int | None = None,
        metadata: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> Batch:
        sha256 = await asyncio.to_thread(batch_calls.file_sha256, Path(path))
        upload = (await self._upload(Path(path))).id
        return await self._send(batch_calls.order_batch(upload, sha256, retention_s, metadata, idempotency_key))

    async def get(self, batch: Batch | str) -> Batch:
        return await self._send(batch_calls.get_batch(_id(batch)))

    async def list(self, *, page_size: int = 50) -> AsyncIterator[Batch]:
        cursor: str | None = None
        while True:
            page = await self._send(batch_calls.list_batches(page_size, cursor))
            for batch in page.data:
                yield batch
            cursor = page.next_cursor
            if cursor is None or not page.has_more:
                return

    async def cancel(self, batch: Batch | str) -> Batch:
        return await self._send(batch_calls.cancel_batch(_id(batch)))

    async def delete(self, batch: Batch | str) -> None:
        await self._send(batch_calls.delete_batch(_id(batch)))

    def results(self, batch: Batch | str) -> AsyncIterator[BatchResult]:
        return read_results_async(self._http, self._connection, _id(batch))

    async def wait(self, batch: Batch | str, *, timeout_s: float | None = None) -> Batch:
        pauses = _Pauses(timeout_s)
        while True:
            seen = await self.get(batch)
            if seen.state.is_terminal:
                return seen
            await asyncio.sleep(pauses.next_s(seen))


class _Pauses:
    """Between two looks at a batch: each a half longer than the one before, up to five seconds."""

    def __init__(self, timeout_s: float | None) -> None:
        self._timeout_s = math.inf if timeout_s is None else timeout_s
        self._until_s = time.monotonic() + self._timeout_s
        self._pause_s = FIRST_PAUSE_S

    def next_s(self, seen: Batch) -> float:
        """Raises `BatchWaitTimedOut`."""
        left_s = self._until_s - time.monotonic()
        if left_s <= 0:
            raise BatchWaitTimedOut(seen, self._timeout_s)
        pause_s, self._pause_s = self._pause_s, min(self._pause_s * 1.5, LAST_PAUSE_S)
        return min(pause_s, left_s)


def _id(batch: Batch | str) -> str:
    return batch if isinstance(batch, str) else batch.id
