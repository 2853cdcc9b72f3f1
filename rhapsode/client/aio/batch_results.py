"""A batch's results line by line, over as many connections as it takes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx

from rhapsode.client.batches.calls import BatchResult, results_path
from rhapsode.client.batches.results import Place
from rhapsode.client.connection import Connection
from rhapsode.client.retries import Attempts


async def read_results(http: httpx.AsyncClient, connection: Connection, batch_id: str) -> AsyncIterator[BatchResult]:
    """In the order of the file, as they stand when they are read. A broken connection loses and repeats none."""
    attempts = Attempts(connection.retries, connection.server_url)
    place = Place(attempts)
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
