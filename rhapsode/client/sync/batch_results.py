# Made from rhapsode/client/aio/batch_results.py by `make generated`; change that file, not this one.
"""A batch's results line by line, over as many connections as it takes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager

import httpx

from rhapsode.client.batches.calls import BatchResult, results_path
from rhapsode.client.batches.results import ResultCursor
from rhapsode.client.connection import Connection
from rhapsode.client.retries import Attempts
from rhapsode.client.sync.streaming import stream


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
