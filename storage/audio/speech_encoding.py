"""Speech as it is sent while it is made: samples in as they come, bytes out of the wanted format. Needs no numpy."""

from __future__ import annotations

from typing import Protocol

from rhapsode.contract.jobs.output import AudioFormat, OutputFormat
from rhapsode.contract.openai import SpeechFormat
from storage.audio.encoding import Outbox, prompt_encoder
from storage.audio.tempo import StretchedStream
from storage.audio.wav import streaming_wav_header
from storage.narration.audio_formats import default_bitrate_kbps


class SpeechEncoder(Protocol):
    """For one stream; one thread at a time. Samples are 16-bit, little-endian, of one channel, and whole."""

    def add(self, pcm: bytes) -> bytes:
        """What can be sent by now: often nothing, where frames of the format are longer than the samples."""
        ...

    def finish(self) -> bytes:
        """What is left, and the end of the format."""
        ...


def speech_encoder(form: SpeechFormat, sample_rate_hz: int, speed: float = 1.0) -> SpeechEncoder:
    plain = _encoder(form, sample_rate_hz)
    return plain if speed == 1 else _Stretched(plain, StretchedStream(sample_rate_hz, speed))


def costs_time(form: SpeechFormat, speed: float) -> bool:
    """Whether `add` does more than hand on: then it is not for an event loop's own thread."""
    return speed != 1 or form not in ("pcm", "wav")


def _encoder(form: SpeechFormat, sample_rate_hz: int) -> SpeechEncoder:
    match form:
        case "pcm":
            return _Plain(b"")
        case "wav":
            return _Plain(streaming_wav_header(sample_rate_hz))
        case _:
            return _Coded(AudioFormat(form), sample_rate_hz)


class _Plain:
    def __init__(self, header: bytes) -> None:
        self._header = header

    def add(self, pcm: bytes) -> bytes:
        header, self._header = self._header, b""
        return header + pcm

    def finish(self) -> bytes:
        return self.add(b"")


class _Coded:
    def __init__(self, form: AudioFormat, sample_rate_hz: int) -> None:
        wanted = OutputFormat(type=form, bitrate_kbps=default_bitrate_kbps(form, sample_rate_hz))
        self._outbox = Outbox()
        self._encoder = prompt_encoder(wanted, sample_rate_hz, self._outbox)

    def add(self, pcm: bytes) -> bytes:
        self._encoder.write(pcm)
        return self._outbox.take()

    def finish(self) -> bytes:
        self._encoder.finish()
        return self._outbox.take()


class _Stretched:
    def __init__(self, encoder: SpeechEncoder, stretched: StretchedStream) -> None:
        self._encoder = encoder
        self._stretched = stretched

    def add(self, pcm: bytes) -> bytes:
        return self._encoder.add(self._stretched.add(pcm))

    def finish(self) -> bytes:
        return self._encoder.add(self._stretched.finish()) + self._encoder.finish()
