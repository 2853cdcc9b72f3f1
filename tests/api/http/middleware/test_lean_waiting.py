"""The lean event is an event: for several who wait, for one who gives up, and again after it was cleared."""

from __future__ import annotations

import asyncio

from api.http.middleware.lean_waiting import LeanEvent


def test_all_who_wait_are_told() -> None:
    async def story() -> list[bool]:
        event = LeanEvent()
        waiting = [asyncio.create_task(event.wait()) for _ in range(3)]
        await asyncio.sleep(0)
        event.set()
        return await asyncio.gather(*waiting)

    assert asyncio.run(story()) == [True, True, True]


def test_who_gives_up_takes_nobody_along() -> None:
    async def story() -> bool:
        event = LeanEvent()
        gone, stays = (asyncio.create_task(event.wait()) for _ in range(2))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.sleep(0)
        event.set()
        return gone.cancelled() and await stays

    assert asyncio.run(story())


def test_it_is_waited_for_again_after_it_was_cleared() -> None:
    async def story() -> bool:
        event = LeanEvent(is_set=True)
        await event.wait()
        event.clear()
        waiting = asyncio.create_task(event.wait())
        await asyncio.sleep(0)
        was_waiting = not (waiting.done() or event.is_set())
        event.set()
        return was_waiting and await waiting

    assert asyncio.run(story())
