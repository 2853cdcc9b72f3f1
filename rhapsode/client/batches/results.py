"""A batch's results line by line, over as many connections as it takes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator

import httpx

from rhapsode.client.batches.calls import BatchResult, read_result, results_path
from rhapsode.client.connection import Connection
from rhapsode.client.retries import Attempts


class _Place:
    """How many lines were handed on; their order is the file's, so a further connection begins behind them."""

    def __init__(self, attempts: Attempts) -> None:
        self._attempts = attempts
        self._handed_on = 0

    def params(self) -> dict[str, int]:
        return {"offset": self._handed_on} if self._handed_on else {}

    def take(self, line: str) -> BatchResult:
        result = read_result(line)
        self._handed_on += 1
        self._attempts.reset()
        return result


def read_results(http: httpx.Client, connection: Connection, batch_id: str) -> Iterator[BatchResult]:
    """In the order of the file, as they stand when they are read. A broken connection loses and repeats none."""
    attempts = Attempts(connection.retries, connection.server_url)
    place = _Place(attempts)
    while True:
        try:
            with http.stream(
                "GET", results_path(batch_id), params=place.params(), timeout=connection.timeout(0.0)
            ) as response:
                pause_s = None
                if response.is_success:
                    yield from (place.take(line) for line in response.iter_lines())
                else:
                    response.read()
                    pause_s = attempts.pause_after_answer(response)
        except httpx.RequestError as error:
            pause_s = attempts.pause_after_break(error)
        if pause_s is None:
            return
        time.sleep(pause_s)


async def read_results_async(
    http: httpx.AsyncClient, connection: Connection, batch_id: str
) -> AsyncIterator[BatchResult]:
    """As `read_results`."""
    attempts = Attempts(connection.retries, connection.server_url)
    place = _Place(attempts)
    while True:
        try:
            async with http.stream(
                "GET", results_path(batch_id), params=place.params(), timeout=connection.timeout(0.0)
            ) as response:
                pause_s = None
                if response.is_success:
                    async for line in response.aiter_lines():
                        yield place.take(line)
                else:
                    await response.aread()
                    pause_s = attempts.pause_after_answer(response)
        except httpx.RequestError as error:
            pause_s = attempts.pause_after_break(error)
        if pause_s is None:
            return
        await asyncio.sleep(pause_s)
