"""A job's opening on its way to one API process, where somebody listens to the job. Heard in the live server's thread.

Silence at either end is left out but for the margins that stored segments have, so that pauses fit. What the live gate
would end a stream for ends it here too: what comes of the attempt is stored, or not, by those who check it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from storage.live.messages import Audio, JobOpening, OpeningOver
from worker.engine.interface import Pcm, SpeechChunk
from worker.live.edges import HeldSilence, LeadingSilence
from worker.live.gate import LiveGate
from worker.live.parts import LiveParts
from worker.speech.audio.samples import to_bytes, to_samples
from worker.speech.openings import Opening

Send = Callable[..., None]
"""A head of `storage.live.messages` and its payload, without waiting."""


class _Heard:
    """One opening, from its beginning to its end."""

    def __init__(self, opening: Opening, parts: LiveParts) -> None:
        info = parts.engine.info
        self.opening = opening
        self._leading = LeadingSilence(info.sample_rate_hz)
        self._held = HeldSilence(info.sample_rate_hz)
        bounds = parts.bounds(opening.voice, opening.language)
        self._gate = LiveGate(bounds, info.samples_per_frame / info.sample_rate_hz)

    def take(self, chunk: SpeechChunk) -> Pcm | None:
        """What of it is to be heard by now; None if no more is."""
        if self._gate.take(chunk, self.opening.text) is not None:
            return None
        return self._held.take(self._leading.take(chunk.pcm))

    def end(self) -> Pcm:
        return self._held.end()


class JobOpenings:
    """An `OpeningListener` of one API process and one job: an attempt after the other, if there is more than one."""

    def __init__(self, stream: str, parts: LiveParts, send: Send) -> None:
        self._stream = stream
        self._parts = parts
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._heard: _Heard | None = None

    def begun(self, opening: Opening) -> None:
        self._post(self._begin, opening)

    def made(self, chunk: SpeechChunk) -> None:
        self._post(self._hear, chunk)

    def over(self, *, is_whole: bool) -> None:
        self._post(self._finish if is_whole else self._break_off)

    def _post(self, act: Callable[..., None], *arguments: object) -> None:
        """From any thread. A loop that is closed has ended all connections."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(act, *arguments)

    # ------------------------------------------------------------------------------------------ the server's thread

    def _begin(self, opening: Opening) -> None:
        self._heard = _Heard(opening, self._parts)
        self._send(JobOpening(stream=self._stream, fence=opening.fence, attempt=opening.attempt))

    def _hear(self, chunk: SpeechChunk) -> None:
        if self._heard is None:
            return
        pcm = self._heard.take(chunk)
        if pcm is None:
            self._break_off()
        else:
            self._say(pcm)

    def _finish(self) -> None:
        if self._heard is not None:
            self._say(self._heard.end())
            self._heard = None
            self._send(OpeningOver(stream=self._stream, is_whole=True))

    def _break_off(self) -> None:
        if self._heard is not None:
            self._heard = None
            self._send(OpeningOver(stream=self._stream, is_whole=False))

    def _say(self, pcm: Pcm) -> None:
        if len(pcm):
            head = Audio(stream=self._stream, segment=0, num_frames=0, num_samples=len(pcm))
            self._send(head, to_bytes(to_samples(pcm)))
