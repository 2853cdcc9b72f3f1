# Made from rhapsode/client/aio/batch_results.py by `make generated`; change that file, not this one.
"""A batch's results line by line, over as many connections as it takes."""

from __future__ import annotations

import time
from collections.abc import Iterator

import httpx

from rhapsode.client.batches.calls import BatchResult, results_path
from rhapsode.client.batches.results import Place
from rhapsode.client.connection import Connection
from rhapsode.client.retries import Attempts


def read_results(http: httpx.Client, connection: Connection, batch_id: str) -> Iterator[BatchResult]:
    """In the order of the file, as they stand when they are read. A broken connection loses and repeats none."""
    attempts = Attempts(connection.retries, connection.server_url)
    place = Place(attempts)
    while True:
        try:
            with http.stream(
                "GET", results_path(batch_id), params=place.params(), timeout=connection.timeout(0.0)
            ) as response:
                pause_s = None
                if response.is_success:
                    for line in response.iter_lines():
                        yield place.take(line)
                else:
                    response.read()
                    pause_s = attempts.pause_after_answer(response)
        except httpx.RequestError as error:
            pause_s = attempts.pause_after_break(error)
        if pause_s is None:
            return
        time.sleep(pause_s)
