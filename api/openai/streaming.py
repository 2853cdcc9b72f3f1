"""Speech that is sent while it is made: the bytes of a format, or events with them."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing

from anyio import CancelScope
from anyio.to_thread import run_sync
from pydantic import JsonValue
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from api.access.caller_key import caller_key
from api.http.problems.problem import HttpProblem, openai_error
from api.live.stream import HeardStream, LiveChunk
from api.openai.headers import MEDIA_TYPES, spoken_headers
from api.openai.leniency import Wish, ignored_header, named
from api.openai.live_orders import forget_brought, live_order
from api.openai.socket.utterance import StreamedSound
from api.services.container import ApiServices
from rhapsode.contract.openai import SpokenUsage
from storage.errors import StoreUnavailable
from storage.ids import TenantId
from storage.live.orders import LiveOrder, LiveTextMode

logger = logging.getLogger(__name__)

EVENT_STREAM = "text/event-stream"


class SpeechAnswerStream(StreamingResponse):
    """Ends the stream when the answer ends, however that is: also for a caller who was gone before it began."""

    def __init__(
        self,
        services: ApiServices,
        order: LiveOrder,
        wish: Wish,
        stream: HeardStream,
        chunks: AsyncGenerator[LiveChunk],
    ) -> None:
        asked = wish.order
        sound = StreamedSound(asked.response_format, stream.sample_rate_hz, asked.speed, services.live.encoders)
        pieces, media_type = _pieces(sound, chunks), MEDIA_TYPES[asked.response_format]
        if asked.stream_format == "sse":
            pieces, media_type = _events(wish, stream, pieces), EVENT_STREAM
        super().__init__(pieces, headers=_headers(order, stream, wish.ignored), media_type=media_type)
        self._services = services
        self._order = order
        self._stream = stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with self._stream:
                await super().__call__(scope, receive, send)
        finally:
            await _forget(self._services, self._order)


async def stream_speech(services: ApiServices, tenant: TenantId, asked: Wish) -> StreamingResponse:
    """It begins with the first audio: an earlier refusal has its own status.

    Raises a `HttpProblem` or a `StorageError`.
    """
    wanted, wish = await run_sync(live_order, services, tenant, asked, LiveTextMode.WHOLE)
    try:
        stream = await services.live.speech.open(tenant, wanted, caller_key() or "")
        try:
            chunks = stream.chunks()
            first = await anext(chunks, None)
            return SpeechAnswerStream(services, wanted, wish, stream, _from(first, chunks))
        except BaseException:
            stream.cancel()
            raise
    except BaseException:
        await _forget(services, wanted)
        raise


def _headers(order: LiveOrder, stream: HeardStream, ignored: Sequence[str]) -> dict[str, str]:
    return {
        "Cache-Control": "no-store",
        "X-Accel-Buffering": "no",
        "X-Sample-Rate": str(stream.sample_rate_hz),
        "X-Stream-Id": stream.id,
        **spoken_headers(order.narration.model, order.narration.voice, order.own_voice),
        **ignored_header(named(ignored)),
    }


async def _from(first: LiveChunk | None, rest: AsyncGenerator[LiveChunk]) -> AsyncGenerator[LiveChunk]:
    async with aclosing(rest):
        if first is not None:
            yield first
        async for chunk in rest:
            yield chunk


async def _pieces(sound: StreamedSound, chunks: AsyncGenerator[LiveChunk]) -> AsyncGenerator[bytes]:
    """In the wanted format. Raises the `HttpProblem` of a stream that broke."""
    async with aclosing(chunks):
        async for chunk in chunks:
            if piece := await sound.add(chunk.pcm):
                yield piece
    if piece := await sound.finish():
        yield piece


async def _events(wish: Wish, stream: HeardStream, pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    """OpenAI's. The status is long sent, so that what breaks the stream is an event too."""
    try:
        async for piece in pieces:
            yield delta_event(wish, piece)
    except HttpProblem as problem:
        logger.warning("live stream broken off", extra={"stream": stream.id, "code": problem.code})
        yield _event("speech.audio.error", error=openai_error(problem))
        return
    yield done_event(wish, SpokenUsage.of(stream.num_chars, stream.audio_s), stream.findings)


def delta_event(wish: Wish, piece: bytes) -> bytes:
    audio = base64.b64encode(piece).decode()
    return _event("speech.audio.delta", audio=audio, response_format=wish.order.response_format)


def done_event(wish: Wish, usage: SpokenUsage, findings: Sequence[str]) -> bytes:
    said: dict[str, JsonValue] = {"findings": [*findings], "ignored": [*wish.ignored]}
    return _event("speech.audio.done", usage=usage.model_dump(), **said)


def _event(kind: str, **fields: JsonValue) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


async def _forget(services: ApiServices, order: LiveOrder) -> None:
    """Also for a caller who has gone."""
    if order.own_voice is None or order.own_voice.voice:
        return
    with CancelScope(shield=True):
        try:
            await run_sync(forget_brought, services, order)
        except StoreUnavailable as error:
            # The janitor removes it after a day.
            logger.warning("a live stream's voice is left in the store", extra={"error": str(error)})
