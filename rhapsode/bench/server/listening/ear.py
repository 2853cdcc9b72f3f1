"""One request as its client sees it: when it was sent, when what came, and what a listener makes of that."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from rhapsode.bench.server.listening.onset import Onset
from rhapsode.bench.server.listening.playback import Playback
from rhapsode.bench.server.listening.wav_stream import WavStream
from rhapsode.bench.server.wire.errors import NotHeard

BYTES_PER_SAMPLE = 2


@dataclass(frozen=True, slots=True)
class Window:
    """From when to when audio counts, in seconds of the clock."""

    begins_s: float
    ends_s: float


class Ear:
    """`sent`, then `form` or `wav_form`, then `hear` for what comes, then `end`. Nothing is kept of the audio but what
    `keep` is given: whole samples and their rate.

    sent_s, first_byte_s, end_s: on the clock; None where it did not come to that. audible_s: when the first sound is
    played. window_audio_s: audio that came within the window.
    """

    def __init__(
        self,
        window: Window,
        keep: Callable[[bytes, int], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.playback = Playback()
        self.sent_s: float | None = None
        self.first_byte_s: float | None = None
        self.end_s: float | None = None
        self.audible_s: float | None = None
        self.window_audio_s = 0.0
        self._window = window
        self._keep = keep
        self._clock = clock
        self._rate_hz: int | None = None
        self._wav: WavStream | None = None
        self._onset: Onset | None = None
        self._rest = b""

    def sent(self) -> None:
        """The first byte of what is asked is about to be written on a connection that stands."""
        self.sent_s = self._clock()

    def form(self, sample_rate_hz: int) -> None:
        """What comes are bare 16-bit little-endian samples of one channel."""
        self._rate_hz = sample_rate_hz

    def wav_form(self) -> None:
        """What comes is a WAV, which says its rate itself."""
        self._wav = WavStream()

    def hear(self, data: bytes) -> None:
        """Raises NotHeard."""
        if not data:
            return
        now_s = self._clock()
        if self.first_byte_s is None:
            self.first_byte_s = now_s
        if self._wav is not None:
            data = self._wav.take(data)
            self._rate_hz = self._wav.sample_rate_hz
        if data:
            self._play(data, now_s)

    def end(self) -> None:
        """Raises NotHeard where there was no audio."""
        self.end_s = self._clock()
        if not self.playback.audio_s:
            raise NotHeard("the answer has no audio")
        if self._rest:
            raise NotHeard("the audio ends within a sample")

    def _play(self, data: bytes, now_s: float) -> None:
        if self._rate_hz is None:
            raise NotHeard("audio came before it was said what it is")
        held = self._rest + data
        whole = len(held) - len(held) % BYTES_PER_SAMPLE
        self._rest, pcm = held[whole:], held[:whole]
        seconds = whole / BYTES_PER_SAMPLE / self._rate_hz
        self.playback.add(seconds, now_s)
        if self._window.begins_s <= now_s < self._window.ends_s:
            self.window_audio_s += seconds
        if self._keep is not None and pcm:
            self._keep(pcm, self._rate_hz)
        if self.audible_s is None:
            self._await_sound(pcm, self._rate_hz)

    def _await_sound(self, pcm: bytes, rate_hz: int) -> None:
        self._onset = self._onset or Onset(rate_hz)
        self._onset.take(pcm)
        if self._onset.offset_s is not None:
            self.audible_s = self.playback.played_s(self._onset.offset_s)
