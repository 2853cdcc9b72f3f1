"""Speech of a text that is still being written, over a WebSocket."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import AsyncGenerator, AsyncIterable, Iterable
from concurrent.futures import Future
from contextlib import aclosing, asynccontextmanager, suppress
from ipaddress import ip_address
from itertools import chain, islice
from typing import TypeAlias

import httpx
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.typing import Subprotocol

from rhapsode.client.connection import USER_AGENT, Connection
from rhapsode.client.live.chunks import AudioChunk, SpeechFacts
from rhapsode.client.live.conversation import MAX_MESSAGE_BYTES, Conversation
from rhapsode.client.live.orders import AsyncTexts
from rhapsode.client.request_options import StreamOptions
from rhapsode.client.retries import Attempts
from rhapsode.contract.speech_socket import NARI, SOCKET_PATH
from rhapsode.errors import ServerUnreachable

_Answer: TypeAlias = "Future[list[str] | BaseException]"
"""The next piece, none at the end; or what the iterator raised."""


async def of_open_text(
    connection: Connection, text: AsyncTexts, options: StreamOptions, facts: SpeechFacts
) -> AsyncGenerator[AudioChunk]:
    """Tries again until there is a connection, and not once a word of the text was taken."""
    attempts = Attempts(connection.retries, connection.server_url)
    facts.begin()
    while True:
        try:
            line = await _connected(connection)
        except (OSError, TimeoutError, WebSocketException) as error:
            pause_s = _pause_after_fault(attempts, error)
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


async def pieces_of(texts: Iterable[str]) -> AsyncGenerator[str]:
    """Reads a piece when it is asked for one. Raises what the iterator raises.

    The thread ends with the iterator's next piece; one that never comes does not keep the program from its end, as a
    thread of `asyncio.to_thread` does.
    """
    asked: queue.SimpleQueue[_Answer | None] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(texts, asked), name="rhapsode-text", daemon=True).start()
    try:
        while pieces := await _ask(asked):
            yield pieces[0]
    finally:
        asked.put(None)


async def _ask(asked: queue.SimpleQueue[_Answer | None]) -> list[str]:
    answer: _Answer = Future()
    asked.put(answer)
    pieces = await asyncio.wrap_future(answer)
    if isinstance(pieces, BaseException):
        raise pieces
    return pieces


def _read(texts: Iterable[str], asked: queue.SimpleQueue[_Answer | None]) -> None:
    # Calls `iter` with the first piece, so that its error is an answer too.
    pieces = chain.from_iterable((texts,))
    while (answer := asked.get()) is not None and answer.set_running_or_notify_cancel():
        try:
            answer.set_result(list(islice(pieces, 1)))
        except BaseException as error:  # noqa: BLE001 - raised to the caller
            answer.set_result(error)


CLOSE_S = 2.0
"""How long a server may take to answer a goodbye; the connection is cut then."""


async def _connected(connection: Connection) -> ClientConnection:
    """Raises `OSError`, `TimeoutError` or `WebSocketException`."""
    url = httpx.URL(connection.server_url)
    scheme = {"http": "ws", "https": "wss"}[url.scheme]
    return await connect(
        str(url.copy_with(scheme=scheme, path=url.path.rstrip("/") + SOCKET_PATH)),
        subprotocols=[Subprotocol(NARI)],
        additional_headers={"Authorization": f"Bearer {connection.api_key}"} if connection.api_key else {},
        user_agent_header=USER_AGENT,
        # Samples do not get smaller.
        compression=None,
        open_timeout=min(connection.timeout_s, 10.0),
        close_timeout=CLOSE_S,
        max_size=MAX_MESSAGE_BYTES,
        proxy=None if _is_this_machine(url.host) else True,
    )


def _pause_after_fault(attempts: Attempts, error: Exception) -> float | None:
    """Seconds to wait before connecting again. Raises what the other calls of the client raise when that is no use."""
    if isinstance(error, InvalidStatus):
        answer = error.response
        headers = list(answer.headers.raw_items())
        asked = httpx.Request("GET", attempts.server)
        return attempts.pause_after_answer(
            httpx.Response(answer.status_code, headers=headers, content=bytes(answer.body), request=asked)
        )
    return attempts.pause_after_break(httpx.ConnectError(str(error) or type(error).__name__))


def broken_off(error: ConnectionClosed) -> ServerUnreachable:
    return ServerUnreachable(f"the speech broke off before its end: {error}")


def _is_this_machine(host: str) -> bool:
    """As `PROXY_FREE` of the other connections."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
