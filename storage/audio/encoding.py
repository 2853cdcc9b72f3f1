"""16-bit mono PCM into FLAC, MP3, Opus and AAC, by FFmpeg's libraries through PyAV.

FLAC, MP3 and M4B get their final header at the end, so they are made in a file. Ogg Opus, AAC and live streams are
append-only. Equal samples give equal bytes: no date, no version. Needs no numpy, so the web tier can encode.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from fractions import Fraction
from typing import IO, TypeAlias

import av
from av.audio.stream import AudioStream
from av.codec.context import Flags as CodecFlags
from av.container import Flags as ContainerFlags
from av.container import OutputContainer
from av.error import PyAVCallbackError
from av.stream import Disposition

from rhapsode.contract.jobs.output import AudioFormat, OutputFormat
from storage.audio.cover import Cover
from storage.audio.description import WITH_COMMENTS, Description, metadata
from storage.audio.language_codes import three_letters
from storage.audio.mp3_level import Gain, lame_scale
from storage.audio.wav import BYTES_PER_SAMPLE
from storage.narration.audio_formats import FORMATS

Packet: TypeAlias = "av.Packet[AudioStream]"
"""Encoded samples with their place in the stream."""

TARGET_ERRORS: tuple[type[Exception], ...] = (OSError, PyAVCallbackError)
"""What comes of a target that cannot be written: FFmpeg calls it back, and an error on that way changes its class."""

APPENDED = frozenset({AudioFormat.OPUS, AudioFormat.AAC})
"""Formats whose files are never rewritten."""

_CONTAINERS = {
    AudioFormat.FLAC: "flac",
    AudioFormat.MP3: "mp3",
    AudioFormat.OPUS: "ogg",
    AudioFormat.M4B: "mp4",
    AudioFormat.AAC: "adts",
}
_FILE_OPTIONS = {
    AudioFormat.MP3: {"id3v2_version": "4"},
    # The index at the front, so that players start before they have everything.
    AudioFormat.M4B: {"brand": "M4B ", "movflags": "+faststart"},
}
_LIVE_OPTIONS = {
    # No index of the whole and no tags: nothing is known yet.
    AudioFormat.MP3: {"write_xing": "0", "id3v2_version": "0"},
    # Microseconds of sound that wait for their page to be full.
    AudioFormat.OPUS: {"page_duration": "200000"},
}
_PROMPT_OPTIONS = _LIVE_OPTIONS | {AudioFormat.OPUS: {"page_duration": "20000"}}
_AT_ONCE = {"flush_packets": "1"}
"""Each packet leaves by itself, not with 32 KiB of others."""

_PROMPT_FLAC = {"compression_level": "0"}
"""Blocks of 48 ms at 24 kHz, not of 192."""

_CHAPTER_TICKS_PER_S = 1000


class AudioEncoder:
    """Samples go in by `write`, bytes leave into the target; the file is whole once `finish` has returned.

    After an error it is only to be let go of: FFmpeg does not survive being asked for the end of a file that it could
    not begin. One thread at a time.
    """

    def __init__(
        self, container: OutputContainer, stream: AudioStream, form: OutputFormat, rate_hz: int, position: int = 0
    ) -> None:
        """position: in samples, where the stream begins."""
        self._container = container
        self._stream = stream
        self._gain = _gain(form, rate_hz)
        self._sample_rate_hz = rate_hz
        self._position = position
        self._is_encoded_apart = False

    def write(self, pcm: bytes) -> None:
        """pcm: little-endian, whole samples."""
        if pcm:
            self._container.mux(self.packets(pcm))

    def add(self, packets: Iterable[Packet]) -> None:
        """The next ones from `encoded_stretch`, for a file to which nothing is written."""
        self._is_encoded_apart = True
        for packet in packets:
            packet.stream = self._stream
            self._container.mux_one(packet)

    def finish(self) -> None:
        """Writes what the encoder still holds, and the end of the file."""
        if not self._is_encoded_apart:
            self._container.mux(self.last_packets())
        self._container.close()

    def packets(self, pcm: bytes) -> list[Packet]:
        """What comes of more samples, one or more of them, not yet in the file."""
        frame = av.AudioFrame(format="s16", layout="mono", samples=len(pcm) // BYTES_PER_SAMPLE)
        frame.planes[0].update(pcm)
        frame.sample_rate = self._sample_rate_hz
        frame.pts = self._position
        frame.time_base = Fraction(1, self._sample_rate_hz)
        self._position += frame.samples
        return self._encoded(frame)

    def last_packets(self) -> list[Packet]:
        return [*([] if self._gain is None else self._encoded(None)), *self._stream.encode(None)]

    def _encoded(self, frame: av.AudioFrame | None) -> list[Packet]:
        frames = (frame,) if self._gain is None else self._gain.frames(frame)
        return [packet for each in frames for packet in self._stream.encode(each)]


class Outbox:
    """A target that is only appended to; `take` hands out what has come since."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, data: bytes) -> int:
        self._pieces.append(bytes(data))
        return len(data)

    def take(self) -> bytes:
        data = b"".join(self._pieces)
        self._pieces.clear()
        return data


def file_encoder(form: OutputFormat, sample_rate_hz: int, description: Description, target: IO[bytes]) -> AudioEncoder:
    """target: an empty file open for writing and reading."""

    def read_again(_url: str, _flags: int, _options: dict[str, str]) -> _Reader:
        return _Reader(target.fileno())

    options = _FILE_OPTIONS.get(form.type, {})
    container = av.open(target, "w", format=_CONTAINERS[form.type], options=options, io_open=read_again)
    _describe(container, form.type, description)
    stream = _add_audio(container, form, sample_rate_hz)
    if form.type is AudioFormat.M4B and (language := three_letters(description.tags.language)):
        stream.metadata["language"] = language
    if description.cover is not None:
        _add_cover(container, description.cover)
    return AudioEncoder(container, stream, form, sample_rate_hz)


def appending_encoder(
    form: OutputFormat, sample_rate_hz: int, description: Description, target: Outbox
) -> AudioEncoder:
    """For a format in `APPENDED`."""
    container = av.open(target, "w", format=_CONTAINERS[form.type], options=_FILE_OPTIONS.get(form.type, {}))
    if FORMATS[form.type].has_tags:
        _describe(container, form.type, description)
    return AudioEncoder(container, _add_audio(container, form, sample_rate_hz), form, sample_rate_hz)


def encoded_stretch(
    form: OutputFormat, sample_rate_hz: int, pcm: bytes, position: int, begin: int, end: int | None
) -> list[Packet]:
    """A stretch of a long stream, to be joined with the others. MP3 has no bit reservoir: a frame's bits would lie in
    those of another encoder.

    pcm: with samples before and after the stretch. position: of the first in the stream. begin, end: the stretch, in
    samples of the stream; None for the end of the stream.
    """
    container = av.open(Outbox(), "w", format=_CONTAINERS[form.type])
    stream = _add_audio(container, form, sample_rate_hz)
    if form.type is AudioFormat.MP3:
        stream.codec_context.options = {"reservoir": "0"}
    encoder = AudioEncoder(container, stream, form, sample_rate_hz, position)
    second = BYTES_PER_SAMPLE * sample_rate_hz
    packets = [each for at in range(0, len(pcm), second) for each in encoder.packets(pcm[at : at + second])]
    if end is None:
        packets += encoder.last_packets()
    container.close()
    timed = [(each.pts or 0, each) for each in packets]
    delay = position - timed[0][0]
    return [each for pts, each in timed if begin <= pts + delay and (end is None or pts + delay < end)]


def live_encoder(form: OutputFormat, sample_rate_hz: int, target: Outbox) -> AudioEncoder:
    """For a stream that begins before its end is known: MP3 or Opus."""
    container = av.open(target, "w", format=_CONTAINERS[form.type], options=_LIVE_OPTIONS[form.type])
    stream = _add_audio(container, form, sample_rate_hz)
    return AudioEncoder(container, stream, form, sample_rate_hz)


def prompt_encoder(form: OutputFormat, sample_rate_hz: int, target: Outbox) -> AudioEncoder:
    """For live streams: MP3, Opus, FLAC (whose length stays unknown) or AAC, each frame of it handed out as soon as it
    is full.
    """
    options = _PROMPT_OPTIONS.get(form.type, {}) | _AT_ONCE
    container = av.open(target, "w", format=_CONTAINERS[form.type], options=options)
    stream = _add_audio(container, form, sample_rate_hz)
    if form.type is AudioFormat.FLAC:
        stream.codec_context.options = _PROMPT_FLAC
    return AudioEncoder(container, stream, form, sample_rate_hz)


class _Reader:
    """The target with a second file position: the index moves to the front by reading what was written."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._position = 0

    def read(self, size: int) -> bytes:
        data = os.pread(self._descriptor, size, self._position)
        self._position += len(data)
        return data

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        origins = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: os.fstat(self._descriptor).st_size}
        self._position = origins[whence] + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def close(self) -> None:
        """The file belongs to its opener."""


def _describe(container: OutputContainer, form: AudioFormat, description: Description) -> None:
    container.metadata.update(metadata(form, description))
    if form in WITH_COMMENTS:
        return
    container.set_chapters(
        [
            {
                "id": number,
                "start": round(chapter.span.start_s * _CHAPTER_TICKS_PER_S),
                "end": round(chapter.span.end_s * _CHAPTER_TICKS_PER_S),
                "time_base": Fraction(1, _CHAPTER_TICKS_PER_S),
                "metadata": {"title": chapter.title},
            }
            for number, chapter in enumerate(description.chapters)
        ]
    )


def _add_audio(container: OutputContainer, form: OutputFormat, sample_rate_hz: int) -> AudioStream:
    container.flags |= ContainerFlags.bitexact.value
    stream = container.add_stream(FORMATS[form.type].codec, rate=sample_rate_hz, layout="mono")
    if not isinstance(stream, AudioStream):
        raise TypeError(f"{FORMATS[form.type].codec} is no audio codec")
    stream.codec_context.flags |= CodecFlags.bitexact
    if form.type is AudioFormat.MP3:
        # Integers would clip what is louder than full scale until LAME makes it quieter again.
        stream.codec_context.format = av.AudioFormat("fltp")
    if form.bitrate_kbps is not None:
        stream.bit_rate = form.bitrate_kbps * 1000
    return stream


def _gain(form: OutputFormat, sample_rate_hz: int) -> Gain | None:
    if form.type is not AudioFormat.MP3 or form.bitrate_kbps is None:
        return None
    scale = lame_scale(form.bitrate_kbps)
    return None if scale == 1 else Gain(1 / scale, sample_rate_hz)


def _add_cover(container: OutputContainer, cover: Cover) -> None:
    stream = container.add_mux_stream(cover.codec, width=cover.width, height=cover.height)
    stream.disposition = Disposition.attached_pic
    stream.metadata["comment"] = "Cover (front)"
    container.start_encoding()
    packet = av.Packet(cover.data)
    packet.stream = stream
    packet.pts = packet.dts = 0
    packet.is_keyframe = True
    container.mux(packet)
