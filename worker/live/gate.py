"""What is noticed of speech while it is made: that it does not end, goes round in a loop, says nothing. Pure.

The quality gate of jobs hears more and has all of a segment; here only what no later sample can mend ends a stream.
A segment ends where its text has to be over. All this follows from samples and codes, not from the chunks they come in.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from reading.estimates import expected_audio_ms
from worker.engine.interface import SpeechChunk
from worker.live.edges import AUDIBLE_RMS, audible_windows
from worker.speech.audio.decoder_start import without_click
from worker.speech.audio.speech_edges import FADE_S, WINDOW_S
from worker.speech.quality.calibration.calibration_file import SpeechBounds
from worker.speech.quality.findings import Defect, SpeechFinding

LOOP_S = 1.2
"""So much that was said before, code for code, is no speech: of good speech hardly an audible frame comes again."""

LONGEST_LOOP_S = 8.0
"""Further back nothing is looked for."""

LONGEST_SILENCE_S = 4.0
"""Twice the longest pause that good speech was ever measured to make."""

ENDLESS_SHARE, ENDLESS_S = 2.0, 4.0
"""Speech that lasts so many times as long as its text takes at most, and these seconds more, does not end."""

UNKNOWN_VOICE_SHARE = 1.5
"""A voice that was not measured, or that has an instruction, may take so many times as long as others do."""


class LiveGate:
    """Checks one segment; `take` every chunk in order."""

    def __init__(self, bounds: SpeechBounds, frame_s: float, *, is_begun: bool = False) -> None:
        """bounds: what is usual for this voice in this language. is_begun: speech of the segment came before."""
        self._bounds = bounds
        self._frame_s = frame_s
        limits_s = (LOOP_S, LONGEST_LOOP_S, LONGEST_SILENCE_S)
        self._loop, self._longest_loop, self._longest_silence = (round(each / frame_s) for each in limits_s)
        """In frames."""
        self._last: dict[bytes, list[int]] = defaultdict(list)
        self._runs: dict[int, int] = {}
        self._frames = self._silent = self._samples = 0
        self._begins: int | None = None
        self._was_heard = is_begun

    def take(self, chunk: SpeechChunk, text: str) -> SpeechFinding | None:
        """Why the stream shall end, if it shall. text: of the segment, as far as it is known."""
        for found in self._findings(chunk):
            if found is not None:
                return found
        return self._endless(text)

    def cut(self, chunk: SpeechChunk, text: str | None, *, is_measured: bool) -> SpeechChunk | None:
        """The audible part of the chunk if the segment ends in it, as its text must be over; else None.

        text: None while more may be written. is_measured: the voice speaks as it did when the bounds were measured.
        """
        model, rate = self._bounds.duration, round(len(chunk.pcm) / len(chunk.frames) / self._frame_s)
        window, start = round(WINDOW_S * rate), self._samples
        audible = audible_windows(chunk.pcm if start else without_click(chunk.pcm, rate), window)
        places = start + window * np.flatnonzero(audible)
        self._samples += len(chunk.pcm)
        self._begins = int(places[0]) if self._begins is None and len(places) else self._begins
        if model is None or self._begins is None or text is None:
            return None
        longest_s = model.longest_s(text) * (1 if is_measured else UNKNOWN_VOICE_SHARE)
        late = places[places >= self._begins + longest_s * rate]
        if not len(late):
            return None
        fade = round(FADE_S * rate)
        pcm = chunk.pcm[: late[0] - start + fade].copy()
        pcm[-fade:] *= np.linspace(1, 0, fade, dtype=np.float32)
        return SpeechChunk(pcm, chunk.frames[: 1 + (len(pcm) - 1) * len(chunk.frames) // len(chunk.pcm)])

    def end(self) -> SpeechFinding | None:
        """Of a segment that is over."""
        if self._was_heard:
            return None
        return SpeechFinding(Defect.SILENT, -120.0, self._bounds.quietest_db)

    def _findings(self, chunk: SpeechChunk) -> Iterator[SpeechFinding | None]:
        if not np.isfinite(chunk.pcm).all():
            yield SpeechFinding(Defect.NOT_FINITE, 0.0, 1.0)
        energy = np.square(chunk.pcm.reshape(len(chunk.frames), -1), dtype=np.float64).mean(axis=1)
        for codes, is_audible in zip(chunk.frames, energy >= AUDIBLE_RMS**2, strict=True):
            self._frames += 1
            yield self._heard(codes) if is_audible else self._quiet()

    def _quiet(self) -> SpeechFinding | None:
        self._silent += 1
        self._runs.clear()
        if self._silent < self._longest_silence:
            return None
        silent_s = self._silent * self._frame_s
        defect = Defect.LONG_PAUSE if self._was_heard else Defect.SILENT
        return SpeechFinding(defect, silent_s, LONGEST_SILENCE_S, self._frames * self._frame_s - silent_s)

    def _heard(self, codes: NDArray[np.int16]) -> SpeechFinding | None:
        self._was_heard, self._silent = True, 0
        if not codes.size:
            return None
        places = self._last[codes.tobytes()]
        while places and self._frames - places[0] > self._longest_loop:
            places.pop(0)
        self._runs = {self._frames - place: self._runs.get(self._frames - place, 0) + 1 for place in places}
        places.append(self._frames)
        longest = max(self._runs.values(), default=0)
        if longest < self._loop:
            return None
        return SpeechFinding(Defect.REPEATED_FRAMES, longest, self._loop, (self._frames - longest) * self._frame_s)

    def _endless(self, text: str) -> SpeechFinding | None:
        longest_s = ENDLESS_SHARE * self._longest_s(text) + ENDLESS_S
        lasts_s = self._frames * self._frame_s
        return SpeechFinding(Defect.TOO_LONG, lasts_s, longest_s, longest_s) if lasts_s > longest_s else None

    def _longest_s(self, text: str) -> float:
        model = self._bounds.duration
        return model.longest_s(text) if model else expected_audio_ms(text) / 1000
