"""Whether the client of a request is still there while its answer is held: it is told when the client goes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager

from starlette.types import Receive


@contextmanager
def caller_watched(receive: Receive, on_gone: Callable[[], None]) -> Generator[Callable[[], bool]]:
    """Gives whether the client has gone, which `on_gone` is told of. The request's body has been read."""
    watching = asyncio.create_task(_until_gone(receive))
    watching.add_done_callback(lambda _: on_gone())
    try:
        yield watching.done
    finally:
        watching.cancel()


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
