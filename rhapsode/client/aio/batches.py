"""`client.batches`: many jobs in one file, all of them or none."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import httpx

from rhapsode.client.aio.sending import AsyncSend, each_of
from rhapsode.client.aio.streaming import stream
from rhapsode.client.batch_following import PollPauses, ResultCursor
from rhapsode.client.calls import IDEMPOTENCY_KEY, ApiCall, given, nothing, path_of, resource
from rhapsode.client.connection import Connection
from rhapsode.client.plain_json import json_object
from rhapsode.client.retries import Attempts
from rhapsode.contract.batches import Batch, BatchList, BatchResult
from rhapsode.contract.uploads import Upload

BATCHES = "/v1/batches"

CHECKING_S = 900.0
"""The server reads every line before it answers: a hundred thousand of them take minutes on a slow machine."""


class AsyncBatches:
    """A file of a batch holds one job request a line, as JSON, with a `custom_id` of your own beside its fields."""

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
        """Upload the file and have its lines made into jobs. Returns once every line was checked, none has run.

        retention_s: how long the batch is kept after its end, the jobs have their own. idempotency_key: the same key
        and the same file within 24 hours are the batch that they made first, also from another process. Raises
        `OSError`, or `InvalidRequest` that names lines at fault; nothing runs then.
        """
        # With it the server compares the file, not the upload, when the key comes again.
        sha256 = await asyncio.to_thread(file_sha256, Path(path))
        upload = await self._upload(Path(path))
        said = {"upload_id": upload.id, "sha256": sha256, "retention_s": retention_s, "metadata": metadata or None}
        headers = {IDEMPOTENCY_KEY: idempotency_key} if idempotency_key else {}
        read, body = resource(Batch), json_object(said)
        return await self._send(ApiCall("POST", BATCHES, read, headers=headers, body=body, hold_s=CHECKING_S))

    async def get(self, batch: Batch | str) -> Batch:
        return await self._send(ApiCall("GET", path_of(BATCHES, batch), resource(Batch)))

    def list(self, *, page_size: int = 50) -> AsyncIterator[Batch]:
        """The newest first, fetched page by page."""
        return each_of(self._send, ApiCall("GET", BATCHES, resource(BatchList), params=given(limit=page_size)))

    async def cancel(self, batch: Batch | str) -> Batch:
        """No further line becomes a job, and those that have not ended are cancelled."""
        # The server cancels job after job before it answers.
        return await self._send(
            ApiCall("POST", f"{path_of(BATCHES, batch)}/cancel", resource(Batch), hold_s=CHECKING_S)
        )

    async def delete(self, batch: Batch | str) -> None:
        """Forget a batch that has ended; its jobs stay. Raises `Conflict` for one that has not."""
        await self._send(ApiCall("DELETE", path_of(BATCHES, batch), nothing))

    def results(self, batch: Batch | str) -> AsyncIterator[BatchResult]:
        """One for each line of the file, in its order, as they stand now; the batch need not have ended."""
        return read_results(self._http, self._connection, f"{path_of(BATCHES, batch)}/results")

    async def wait(self, batch: Batch | str, *, timeout_s: float | None = None) -> Batch:
        """The batch once all its jobs have ended, however they did. Raises `BatchWaitTimedOut`."""
        pauses = PollPauses(timeout_s)
        while True:
            seen = await self.get(batch)
            if seen.state.is_terminal:
                return seen
            await asyncio.sleep(pauses.next_s(seen))


def file_sha256(path: Path) -> str:
    """Raises `OSError`."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_results(http: httpx.AsyncClient, connection: Connection, path: str) -> AsyncIterator[BatchResult]:
    """In the order of the file, as they stand when they are read. A broken connection loses and repeats none."""
    attempts = Attempts(connection.retries, connection.server_url)
    place = ResultCursor(attempts)

    def ask() -> AbstractAsyncContextManager[httpx.Response]:
        return http.stream("GET", path, params=place.params(), timeout=connection.timeout(0.0))

    return stream(ask, lambda response: _results(response, place), attempts)


async def _results(response: httpx.Response, place: ResultCursor) -> AsyncIterator[BatchResult]:
    async for line in response.aiter_lines():
        yield place.take(line)
