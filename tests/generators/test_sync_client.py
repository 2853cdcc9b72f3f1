"""A line of the asyncio client becomes one of the synchronous client, or is refused."""

from __future__ import annotations

import pytest

from generators.sync_client import made, sync_client


def test_a_line_of_the_asyncio_client_loses_its_colour_and_nothing_else() -> None:
    written = """\
import asyncio
async def fetch(self, ask: Callable[[str], Awaitable[Job]]) -> AsyncIterator[bytes]:
    async with AsyncRhapsode() as client, httpx.AsyncClient() as http:
        try:
            part = await asyncio.to_thread(self._file.read, 10)
            async for piece in response.aiter_bytes(10):
                yield piece
            await asyncio.sleep(pause_s)
        except asyncio.CancelledError:
            raise
"""

    assert (
        made(written, "x.py")
        == """\
import time
def fetch(self, ask: Callable[[str], Job]) -> Iterator[bytes]:
    with Rhapsode() as client, httpx.Client() as http:
        try:
            part = self._file.read(10)
            for piece in response.iter_bytes(10):
                yield piece
            time.sleep(pause_s)
        except KeyboardInterrupt:
            raise
"""
    )


def test_the_synchronous_client_here_is_as_its_source_says() -> None:
    assert {path: path.read_text() for path in sync_client()} == sync_client()


def test_what_nothing_uses_is_not_imported() -> None:
    assert made("import asyncio\nx = await asyncio.to_thread(read, file)\n", "x.py") == "x = read(file)\n"


@pytest.mark.parametrize(
    "line", ["done = asyncio.gather(one, two)", "seen = (await self.get(job)).state", "line = asyncio.StreamReader()"]
)
def test_what_no_rule_covers_is_refused_with_its_line(line: str) -> None:
    with pytest.raises(ValueError, match=r"client/aio/jobs\.py:2: no rule of sync_client\.py covers"):
        made(f"x = 1\n{line}\n", "jobs.py")
