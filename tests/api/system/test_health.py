"""Readiness while every thread that requests are worked on is stuck."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable

import httpx
import pytest
from anyio.to_thread import current_default_thread_limiter, run_sync

from api.app import create_app
from api.settings import ApiSettings


@pytest.mark.parametrize(
    ("in_thread", "path"),
    [(run_sync, "/v1/models"), (asyncio.to_thread, "/v1/jobs/job_01k0000000000000000000000a")],
    ids=["of routes", "of frequent requests"],
)
def test_a_server_whose_threads_are_all_stuck_is_not_ready_and_says_why(
    api_settings: ApiSettings, in_thread: Callable[[Callable[[], object]], Awaitable[object]], path: str
) -> None:
    async def asked_thrice() -> list[httpx.Response]:
        app, release, has_begun = create_app(api_settings), threading.Event(), threading.Semaphore(0)

        def stay() -> None:
            has_begun.release()
            release.wait()

        transport = httpx.ASGITransport(app=app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://localhost") as http,
        ):
            before = await http.get("/readyz")
            number = int(current_default_thread_limiter().total_tokens)
            stuck = [asyncio.ensure_future(in_thread(stay)) for _ in range(number)]
            for _ in range(number):
                while not has_begun.acquire(blocking=False):
                    await asyncio.sleep(0.01)
            # Whatever stands in line before the question is stuck too.
            waiting = asyncio.create_task(http.get(path))
            during = await http.get("/health")
            assert not waiting.done()
            release.set()
            await asyncio.gather(*stuck)
            await waiting
            return [before, during, await http.get("/readyz")]

    before, during, after = asyncio.run(asked_thrice())

    assert (during.status_code, during.json()["status"], during.json()["threads"]) == (503, "unavailable", "busy")
    assert during.json()["reasons"][0].startswith("all threads for requests are busy (since ")
    # It needs none of those threads itself.
    assert (during.json()["redis"], during.json()["store"]) == ("ok", "ok")
    assert before.status_code == after.status_code == 200
    assert before.json() == after.json()
    assert after.json()["threads"] == "ok"
