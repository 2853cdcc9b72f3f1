"""One request as its client sees it: when what came, what a listener hears of it, and what can go wrong."""

from __future__ import annotations

import array
import struct
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from operator import mul

_MOST_CHARS = 160


class RequestFailed(Exception):
    """The message is one short line: requests that failed alike are counted together by it."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message[: 4 * _MOST_CHARS].split())[:_MOST_CHARS])


class RequestRefused(RequestFailed):
    """status: of HTTP, or what the server's error says it would be."""

    def __init__(self, status: int, what: str) -> None:
        super().__init__(f"{status} {what}".strip())
        self.status = status


class NotHeard(RequestFailed):
    pass


class Unreachable(RequestFailed):
    pass


LEVEL_DBFS = -45.0
BLOCK_S = 0.01
BLOCKS = 3
"""In a row above the level: a click is no speech. Thirty milliseconds, as two windows of 20 ms a half apart have."""

_FULL_SCALE = 32768.0


class Onset:
    """Takes whole 16-bit little-endian samples of one channel, in any pieces, until it has found where sound begins.

    offset_s: of the first audible block, from the first sample; None before it.
    """

    def __init__(self, sample_rate_hz: int) -> None:
        self.offset_s: float | None = None
        self._size = max(1, round(sample_rate_hz * BLOCK_S))
        self._rate_hz = sample_rate_hz
        self._rest = array.array("h")
        self._blocks = 0
        self._loud = 0
        self._least_power = (10 ** (LEVEL_DBFS / 20) * _FULL_SCALE) ** 2

    def take(self, pcm: bytes) -> None:
        if self.offset_s is not None:
            return
        samples = array.array("h", pcm)
        if sys.byteorder == "big":
            samples.byteswap()
        held = self._rest + samples
        whole = len(held) - len(held) % self._size
        for begin in range(0, whole, self._size):
            if self._hears(held[begin : begin + self._size]):
                self._rest = array.array("h")
                return
        self._rest = held[whole:]

    def _hears(self, block: array.array[int]) -> bool:
        mean = sum(block) / len(block)
        power = sum(map(mul, block, block)) / len(block) - mean * mean
        self._loud = self._loud + 1 if power >= self._least_power else 0
        self._blocks += 1
        if self._loud < BLOCKS:
            return False
        self.offset_s = (self._blocks - BLOCKS) * self._size / self._rate_hz
        return True


class SimulatedPlayback:
    """Pieces of audio with the time at which each came, all in seconds of one clock.

    audio_s: of all of it. gaps: how often there was nothing to play in the middle; buffer_s: for how long, all of them,
    which is the patience before the first sample with which there would have been none; longest_gap_s. first_s: when
    the first piece came, which is when it is played.
    """

    def __init__(self) -> None:
        self.audio_s = 0.0
        self.gaps = 0
        self.buffer_s = 0.0
        self.longest_gap_s = 0.0
        self.first_s: float | None = None
        self._plays_until_s = 0.0
        self._pieces: list[tuple[float, float]] | None = []  # where each begins in the audio, and when it is played

    def add(self, seconds: float, now_s: float) -> None:
        if seconds <= 0:
            return
        if self.first_s is None:
            self.first_s = self._plays_until_s = now_s
        elif now_s > self._plays_until_s:
            late_s = now_s - self._plays_until_s
            self.gaps += 1
            self.buffer_s += late_s
            self.longest_gap_s = max(self.longest_gap_s, late_s)
            self._plays_until_s = now_s
        if self._pieces is not None:
            self._pieces.append((self.audio_s, self._plays_until_s))
        self.audio_s += seconds
        self._plays_until_s += seconds

    def played_s(self, offset_s: float) -> float:
        """When what stands so far into the audio is played; nothing further back is asked for after that.

        Raises ValueError where it has not come.
        """
        if not self._pieces or not 0 <= offset_s <= self.audio_s:
            raise ValueError("there is no such place in what came")
        begins_s, played_s = next(piece for piece in reversed(self._pieces) if piece[0] <= offset_s)
        self._pieces = None
        return played_s + offset_s - begins_s


_HEAD = struct.Struct("<4sI4s")
_CHUNK = struct.Struct("<4sI")
_FORMAT = struct.Struct("<HHIIHH")
_MOST_CHUNK_BYTES = 1 << 16
"""Of what stands before the samples."""
_PCM, _EXTENSIBLE = 1, 0xFFFE


class WavStream:
    """sample_rate_hz: None until the header has come. A length that a stream cannot know is not looked at."""

    def __init__(self) -> None:
        self.sample_rate_hz: int | None = None
        self._head = bytearray()
        self._is_open = False
        self._is_riff = False

    def take(self, data: bytes) -> bytes:
        """The samples among it. Raises NotHeard for what is no WAV of 16-bit samples of one channel."""
        if self._is_open:
            return data
        self._head += data
        if not self._is_riff:
            if len(self._head) < _HEAD.size:
                return b""
            self._begin()
        while len(self._head) >= _CHUNK.size:
            kind, size = _CHUNK.unpack_from(self._head)
            if kind == b"data":
                return self._open()
            if size > _MOST_CHUNK_BYTES:
                raise NotHeard(f"a chunk of {size} bytes stands before the samples of the WAV")
            end = _CHUNK.size + size + size % 2
            if len(self._head) < end:
                return b""
            if kind == b"fmt ":
                self._read_format(bytes(self._head[_CHUNK.size : end]))
            del self._head[:end]
        return b""

    def _begin(self) -> None:
        riff, _, kind = _HEAD.unpack_from(self._head)
        if (riff, kind) != (b"RIFF", b"WAVE"):
            raise NotHeard("the answer is no WAV")
        self._is_riff = True
        del self._head[: _HEAD.size]

    def _read_format(self, chunk: bytes) -> None:
        if len(chunk) < _FORMAT.size:
            raise NotHeard("the WAV does not say what its samples are")
        code, channels, rate_hz, _, _, bits = _FORMAT.unpack_from(chunk)
        if code not in (_PCM, _EXTENSIBLE) or (channels, bits) != (1, 16) or not rate_hz:
            raise NotHeard(f"the WAV has {channels} channels of {bits} bits, not one of 16")
        self.sample_rate_hz = rate_hz

    def _open(self) -> bytes:
        if self.sample_rate_hz is None:
            raise NotHeard("the WAV does not say what its samples are")
        self._is_open = True
        samples = bytes(self._head[_CHUNK.size :])
        self._head.clear()
        return samples


BYTES_PER_SAMPLE = 2


@dataclass(frozen=True, slots=True)
class CountedWindow:
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
        window: CountedWindow,
        keep: Callable[[bytes, int], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.playback = SimulatedPlayback()
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
