"""The text on its way to the server: sent by one task, while another reads the speech."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Iterable
from contextlib import aclosing, asynccontextmanager, suppress

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from rhapsode.client.live.conversation import Conversation
from rhapsode.client.live.thread_texts import pieces_of


class Feed:
    """failure: what the caller's iterator raised."""

    failure: BaseException | None = None

    def check(self) -> None:
        """Raises what the caller's own iterator raised."""
        if self.failure is not None:
            raise self.failure


@asynccontextmanager
async def feeding(
    line: ClientConnection, conversation: Conversation, texts: Iterable[str] | AsyncIterable[str]
) -> AsyncGenerator[Feed]:
    """Send the text while the block runs. An iterator that fails closes the line, and `check` raises its error."""
    feed = Feed()
    task = asyncio.create_task(_feed(line, conversation, texts, feed))
    try:
        yield feed
    finally:
        task.cancel()
        await asyncio.wait((task,))


async def _feed(
    line: ClientConnection, conversation: Conversation, texts: Iterable[str] | AsyncIterable[str], feed: Feed
) -> None:
    # The line's end is the reader's to tell.
    with suppress(ConnectionClosed):
        try:
            async with aclosing(_each(texts) if isinstance(texts, AsyncIterable) else pieces_of(texts)) as pieces:
                async for text in pieces:
                    for message in conversation.append(text):
                        await line.send(message)
        except ConnectionClosed:
            raise
        except BaseException as error:  # noqa: BLE001 - the caller's own, handed to the caller; or the reader has left
            feed.failure = error
            await line.close()
            return
        await line.send(conversation.end())


async def _each(texts: AsyncIterable[str]) -> AsyncGenerator[str]:
    async for text in texts:
        yield text
