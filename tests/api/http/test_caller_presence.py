"""A request that sleeps is woken, hears that its client has gone, or has slept its time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from starlette.types import Message

from api.http.caller_presence import PresentCaller

LONG_S = 60.0


class ScriptedClient:
    def __init__(self) -> None:
        self.messages: asyncio.Queue[Message] = asyncio.Queue()

    async def receive(self) -> Message:
        return await self.messages.get()


def told(story: Callable[[PresentCaller, ScriptedClient], Awaitable[bool]]) -> bool:
    async def run() -> bool:
        client = ScriptedClient()
        return await asyncio.wait_for(story(PresentCaller(client.receive), client), LONG_S)

    return asyncio.run(run())


def test_one_that_sleeps_is_woken_more_than_once() -> None:
    async def story(caller: PresentCaller, _: ScriptedClient) -> bool:
        for _round in range(3):
            sleeping = asyncio.create_task(caller.sleep(LONG_S))
            await asyncio.sleep(0)
            # Also by several at the same time.
            caller.wake()
            caller.wake()
            assert await sleeping
        return caller.has_gone

    assert not told(story)


def test_a_time_that_is_over_is_no_news() -> None:
    async def story(caller: PresentCaller, _: ScriptedClient) -> bool:
        return await caller.sleep(0.01)

    assert not told(story)


def test_a_client_that_goes_ends_the_sleep_and_is_known_to_have_gone() -> None:
    async def story(caller: PresentCaller, client: ScriptedClient) -> bool:
        sleeping = asyncio.create_task(caller.sleep(LONG_S))
        client.messages.put_nowait({"type": "http.request", "body": b"", "more_body": False})
        client.messages.put_nowait({"type": "http.disconnect"})
        return await sleeping and caller.has_gone

    assert told(story)


def test_a_server_that_stops_the_request_is_no_waking() -> None:
    async def story(caller: PresentCaller, _: ScriptedClient) -> bool:
        sleeping = asyncio.create_task(caller.sleep(LONG_S))
        await asyncio.sleep(0)
        sleeping.cancel()
        await asyncio.wait((sleeping,))
        return sleeping.cancelled()

    assert told(story)
