"""A batch's results line by line, over as many connections as it takes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager

import httpx

from rhapsode.client.aio.streaming import stream
from rhapsode.client.batches.calls import BatchResult, results_path
from rhapsode.client.batches.results import ResultCursor
from rhapsode.client.connection import Connection
from rhapsode.client.retries import Attempts


def read_results(http: httpx.AsyncClient, connection: Connection, batch_id: str) -> AsyncIterator[BatchResult]:
    """In the order of the file, as they stand when they are read. A broken connection loses and repeats none."""
    attempts = Attempts(connection.retries, connection.server_url)
    place = ResultCursor(attempts)

    def ask() -> AbstractAsyncContextManager[httpx.Response]:
        return http.stream("GET", results_path(batch_id), params=place.params(), timeout=connection.timeout(0.0))

    return stream(ask, lambda response: _results(response, place), attempts)


async def _results(response: httpx.Response, place: ResultCursor) -> AsyncIterator[BatchResult]:
    async for line in response.aiter_lines():
        yield place.take(line)
