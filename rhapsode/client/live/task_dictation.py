"""Speech of a text that is still being written, over a WebSocket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from rhapsode.client.connection import Connection
from rhapsode.client.live.chunks import AudioChunk, SpeechFacts
from rhapsode.client.live.conversation import Conversation
from rhapsode.client.live.lines import CONNECTION_FAULTS, broken_off, line_options, line_url, pause_after_fault
from rhapsode.client.live.orders import AsyncTexts
from rhapsode.client.live.task_feed import feeding
from rhapsode.client.request_options import StreamOptions
from rhapsode.client.retries import Attempts


async def of_open_text(
    connection: Connection, text: AsyncTexts, options: StreamOptions, facts: SpeechFacts
) -> AsyncGenerator[AudioChunk]:
    """Tries again until there is a connection, and not once a word of the text was taken."""
    attempts = Attempts(connection.retries, connection.server_url)
    facts.begin()
    while True:
        try:
            line = await connect(line_url(connection), **line_options(connection))
        except CONNECTION_FAULTS as error:
            pause_s = pause_after_fault(attempts, error)
        else:
            break
        await asyncio.sleep(pause_s or 0.0)
    async with line:
        conversation = Conversation(options, facts)
        await _agree(line, conversation)
        async with feeding(line, conversation, text) as feed:
            while not conversation.is_over:
                try:
                    chunk = conversation.take(await line.recv())
                except ConnectionClosed as error:
                    feed.check()
                    raise broken_off(error) from error
                if chunk is not None:
                    yield chunk


async def _agree(line: ClientConnection, conversation: Conversation) -> None:
    """Until the server knows what it is to speak with."""
    try:
        conversation.take(await line.recv())
        await line.send(conversation.start())
        while not conversation.is_configured:
            conversation.take(await line.recv())
    except ConnectionClosed as error:
        raise broken_off(error) from error
