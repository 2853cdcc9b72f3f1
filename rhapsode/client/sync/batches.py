# Made from rhapsode/client/aio/batches.py by `make generated`; change that file, not this one.
"""`client.batches`: many jobs in one file, all of them or none."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import httpx

from rhapsode.client.batches import calls as batch_calls
from rhapsode.client.batches.calls import BatchResult, results_path
from rhapsode.client.batches.pauses import PollPauses
from rhapsode.client.batches.results import ResultCursor
from rhapsode.client.connection import Connection
from rhapsode.client.retries import Attempts
from rhapsode.client.sync.sending import Send, each_of
from rhapsode.client.sync.streaming import stream
from rhapsode.contract.batches import Batch
from rhapsode.contract.uploads import Upload


class Batches:
    """A file of a batch holds one job request a line, as JSON, with a `custom_id` of your own beside its fields."""

    def __init__(
        self,
        send: Send,
        upload: Callable[[Path], Upload],
        http: httpx.Client,
        connection: Connection,
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
        upload = self._upload(Path(path))
        return self._send(batch_calls.order_batch(upload.id, sha256, retention_s, metadata, idempotency_key))

    def get(self, batch: Batch | str) -> Batch:
        return self._send(batch_calls.get_batch(_id(batch)))

    def list(self, *, page_size: int = 50) -> Iterator[Batch]:
        """The newest first, fetched page by page."""
        return each_of(self._send, lambda cursor: batch_calls.list_batches(page_size, cursor))

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
        pauses = PollPauses(timeout_s)
        while True:
            seen = self.get(batch)
            if seen.state.is_terminal:
                return seen
            time.sleep(pauses.next_s(seen))


def _id(batch: Batch | str) -> str:
    return batch if isinstance(batch, str) else batch.id


def read_results(http: httpx.Client, connection: Connection, batch_id: str) -> Iterator[BatchResult]:
    """In the order of the file, as they stand when they are read. A broken connection loses and repeats none."""
    attempts = Attempts(connection.retries, connection.server_url)
    place = ResultCursor(attempts)

    def ask() -> AbstractContextManager[httpx.Response]:
        return http.stream("GET", results_path(batch_id), params=place.params(), timeout=connection.timeout(0.0))

    return stream(ask, lambda response: _results(response, place), attempts)


def _results(response: httpx.Response, place: ResultCursor) -> Iterator[BatchResult]:
    for line in response.iter_lines():
        yield place.take(line)
