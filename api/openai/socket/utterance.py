"""One utterance: text goes to the engine as it arrives, and audio returns as it is generated."""

from __future__ import annotations

import asyncio
import logging
from typing import TypeAlias

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from api.live.speech import LiveSpeech
from api.live.stream import HeardStream
from api.openai.socket.actions import OnAudio, OnStart, UtteranceOutcome
from rhapsode.contract.openai import SpeechFormat
from storage.audio.speech_encoding import costs_time, speech_encoder
from storage.audio.wav import BYTES_PER_SAMPLE, wav_header
from storage.ids import TenantId
from storage.live.orders import LiveOrder, LiveTextMode

logger = logging.getLogger(__name__)


class StreamedSound:
    """Encoded audio. `add` returns the bytes to send now, perhaps none."""

    def __init__(self, form: SpeechFormat, sample_rate_hz: int, speed: float, threads: CapacityLimiter) -> None:
        """threads: for slow encoders."""
        self._encoder = speech_encoder(form, sample_rate_hz, speed)
        self._threads = threads if costs_time(form, speed) else None

    async def add(self, pcm: bytes) -> bytes:
        if self._threads is None:
            return self._encoder.add(pcm)
        return await run_sync(self._encoder.add, pcm, limiter=self._threads)

    async def finish(self) -> bytes:
        if self._threads is None:
            return self._encoder.finish()
        return await run_sync(self._encoder.finish, limiter=self._threads)


class WholeSound:
    """All audio at the end, so that a WAV has its length."""

    def __init__(self, form: SpeechFormat, sample_rate_hz: int, speed: float, threads: CapacityLimiter) -> None:
        self._is_wav = form == "wav"
        self._sample_rate_hz = sample_rate_hz
        self._streamed = StreamedSound("pcm" if self._is_wav else form, sample_rate_hz, speed, threads)
        self._made: list[bytes] = []

    async def add(self, pcm: bytes) -> bytes:
        self._made.append(await self._streamed.add(pcm))
        return b""

    async def finish(self) -> bytes:
        audio = b"".join((*self._made, await self._streamed.finish()))
        head = wav_header(len(audio) // BYTES_PER_SAMPLE, self._sample_rate_hz) if self._is_wav else b""
        return head + audio


SoundFormat: TypeAlias = StreamedSound | WholeSound


class SocketUtterance:
    def __init__(
        self, live: LiveSpeech, tenant: TenantId, key: str, order: LiveOrder, text: str, sound: SoundFormat
    ) -> None:
        """key: the caller's, for its usage. order: without its text. text: the first part."""
        self._live = live
        self._tenant = tenant
        self._key = key
        self._order = order
        self._sound = sound
        self._pieces: asyncio.Queue[tuple[str, bool]] = asyncio.Queue()
        self._pieces.put_nowait((text, False))

    def extend(self, text: str, *, is_last: bool) -> None:
        """Returns at once, also without a place yet. The limit of a text bounds the waiting parts."""
        self._pieces.put_nowait((text, is_last))

    async def speak(self, on_start: OnStart, on_audio: OnAudio) -> UtteranceOutcome:
        """Returns at the end. Raises an `HttpProblem` or a `StorageError`. A cancellation frees the engine's place."""
        order = await self._order_to_begin_with()
        async with await self._live.open(self._tenant, order, self._key) as stream:
            await on_start(stream.id)
            writing = asyncio.create_task(self._write(stream)) if order.text_is_open else None
            try:
                await self._send(stream, on_audio)
            finally:
                if writing is not None:
                    writing.cancel()
                    await asyncio.wait((writing,))
            return UtteranceOutcome(stream.findings, stream.num_chars, stream.audio_s)

    async def _order_to_begin_with(self) -> LiveOrder:
        """With the first text, or with all text for a model that reads it before it speaks."""
        text, is_last = await self._waiting_text()
        while self._order.text_mode is LiveTextMode.WHOLE and not is_last:
            more, is_last = await self._waiting_text()
            text += more
        return self._order.model_copy(update={"text": text, "text_is_open": not is_last})

    async def _write(self, stream: HeardStream) -> None:
        is_last = False
        try:
            while not is_last:
                text, is_last = await self._waiting_text()
                await stream.extend(text, is_last=is_last)
        except Exception:
            # Without more text the stream would not end.
            logger.exception("a live text cannot be passed on", extra={"stream": stream.id})
            stream.fail("internal", "the text could not be passed on: an internal error")

    async def _waiting_text(self) -> tuple[str, bool]:
        """All text so far, after the first part."""
        text, is_last = await self._pieces.get()
        while not is_last and not self._pieces.empty():
            more, is_last = self._pieces.get_nowait()
            text += more
        return text, is_last

    async def _send(self, stream: HeardStream, on_audio: OnAudio) -> None:
        async for chunk in stream.chunks():
            if audio := await self._sound.add(chunk.pcm):
                await on_audio(audio)
        if audio := await self._sound.finish():
            await on_audio(audio)
