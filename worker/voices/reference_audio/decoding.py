"""A file of some kinds to mono samples. What the header claims decides nothing but the rate and the channels.

Length is counted in decoded samples, block by block. So neither a wrong header nor a bomb (a few bytes that decode to
hours) takes more memory than ten minutes of audio.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

import av
import numpy as np
import soundfile
from av.error import FFmpegError
from numpy.typing import NDArray

from storage.audio.recording_verdict import (
    MAX_CHANNELS,
    MAX_DURATION_S,
    MIN_DURATION_S,
    RATES_HZ,
    UNKNOWN,
    Container,
    RecordingFacts,
    RecordingRefused,
    RefusalCode,
    Repair,
)
from storage.audio.recordings import SNIFF_BYTES, sniff_container
from storage.runtime.fork_server.limits import ChildLimits

SILENCE_RMS = 1e-3
"""-60 dB of full scale: below it a recording holds noise of its microphone and no voice."""

FULL_SCALE = 0.999
"""What a 16-bit recorder makes of everything above it; lossy codecs overshoot a little."""

MAX_CLIPPED_SHARE = 0.01
"""Speech that touches the ceiling now and then is below a thousandth; beyond a hundredth it is audible distortion."""

MAX_PEAK = 4.0
"""Files of floats can say anything; twelve decibels above full scale is no recording."""

MOST_SEARCHED = 600 * 48_000
"""Samples of each channel that are decoded to find the best of them. What comes later is not looked at."""

QUIET = 0.01
"""20 dB below the loud parts of a recording, by energy: pauses."""

MOST_SIDE = 10.0
"""Times the energy of the channels' mean. Beyond it they cancel out, because one of them has its phase inverted."""

LIMITS = ChildLimits(memory_bytes=1 << 30, cpu_s=20, output_bytes=64 << 20)
"""Of the process that decodes one recording. The output is at most a minute of samples at the highest rate."""

BLOCK_FRAMES = 8_192

_CONTAINERS = {
    "WAV": Container.WAV,
    "WAVEX": Container.WAV,
    "FLAC": Container.FLAC,
    "MP3": Container.MP3,
    "OGG": Container.OGG,
    "RF64": Container.WAV,
}
_DEMUXERS = {Container.MP4: "mov", Container.WEBM: "matroska", Container.AAC: "aac", Container.WAV: "wav"}
"""Of FFmpeg, by name: it guesses nothing, and follows no list of other files."""

Mono = NDArray[np.float32]


def decode(file: BinaryIO | int) -> tuple[RecordingFacts, list[Mono]]:
    """What the recording is, and the channels' mean in blocks, float32 (N,) each. `file` is open, or a descriptor.

    Raises `RecordingRefused` for what is broken, too short or long, silent, clipped, or of another kind.
    """
    source = open(file, "rb", closefd=False) if isinstance(file, int) else file  # noqa: SIM115
    container = sniff_container(source.read(SNIFF_BYTES))
    source.seek(0)
    try:
        if container in (Container.MP4, Container.WEBM, Container.AAC):
            return _demuxed(source, container)
        try:
            with soundfile.SoundFile(source, closefd=False) as recording:
                return _decode(recording)
        except (soundfile.SoundFileError, RecordingRefused) as error:
            if container is not Container.WAV or getattr(error, "code", None) not in (None, RefusalCode.TOO_SHORT):
                raise
            # Sizes of zero, as a program leaves them that cannot go back in its output.
            source.seek(0)
            return _demuxed(source, container)
    except (soundfile.SoundFileError, FFmpegError, ValueError, TypeError) as error:
        raise RecordingRefused(RefusalCode.UNREADABLE, "the recording is damaged and cannot be decoded") from error


def _decode(recording: soundfile.SoundFile) -> tuple[RecordingFacts, list[Mono]]:
    container = _CONTAINERS.get(recording.format)
    if container is None:
        raise RecordingRefused(RefusalCode.UNSUPPORTED_MEDIA, UNKNOWN)
    return _facts(container, recording.samplerate, recording.channels, _blocks(recording))


def _demuxed(source: BinaryIO, container: Container) -> tuple[RecordingFacts, list[Mono]]:
    with av.open(source, "r", format=_DEMUXERS[container]) as recording:
        if not recording.streams.audio:
            raise RecordingRefused(RefusalCode.UNSUPPORTED_MEDIA, "the recording has no sound")
        stream = recording.streams.audio[0]
        if getattr(stream, "codec_context", None) is None:
            raise RecordingRefused(RefusalCode.UNSUPPORTED_MEDIA, "the recording's kind of sound is not known")
        frames = recording.decode(stream)
        resampler = av.AudioResampler(format="fltp", layout=stream.layout, rate=stream.rate)
        blocks = (
            np.asarray(piece.to_ndarray().T, np.float32) for frame in frames for piece in resampler.resample(frame)
        )
        return _facts(container, stream.rate, stream.channels, blocks)


def _blocks(recording: soundfile.SoundFile) -> Iterator[Mono]:
    while len(block := np.asarray(recording.read(BLOCK_FRAMES, dtype="float32", always_2d=True), np.float32)):
        yield block


def _facts(
    container: Container, rate: int, channels: int, decoded: Iterable[Mono]
) -> tuple[RecordingFacts, list[Mono]]:
    _require_layout(rate, channels)
    pieces, is_long = _measured(decoded, rate)
    if is_long:
        pieces = _best(pieces, rate)
    num_samples = sum(piece.mean.size for piece in pieces)
    if num_samples < MIN_DURATION_S * rate:
        raise RecordingRefused(
            RefusalCode.TOO_SHORT,
            f"the recording has {num_samples / rate:.2f} s; at least {MIN_DURATION_S:g} s are needed",
        )
    is_turned = _energy(piece.side for piece in pieces) > MOST_SIDE * _energy(piece.mean for piece in pieces)
    blocks = [piece.side if is_turned else piece.mean for piece in pieces]
    _require_speakable(pieces, math.sqrt(_energy(blocks) / num_samples))
    repairs = (*((Repair.CUT,) if is_long else ()), *((Repair.PHASE,) if is_turned else ()))
    return RecordingFacts(container, rate, channels, num_samples, repairs), blocks


def _require_layout(rate: int, channels: int) -> None:
    if rate not in RATES_HZ:
        raise RecordingRefused(
            RefusalCode.BAD_RATE,
            f"the recording has {rate} samples a second; {RATES_HZ.start} to {RATES_HZ.stop - 1} are taken",
        )
    if not 1 <= channels <= MAX_CHANNELS:
        raise RecordingRefused(
            RefusalCode.TOO_MANY_CHANNELS, f"the recording has {channels} channels; at most {MAX_CHANNELS} are taken"
        )


@dataclass(frozen=True, slots=True)
class _Piece:
    """mean, side: of the channels, (N,); half the difference of two. peak: of any. clipped: share of the values."""

    mean: Mono
    side: Mono
    peak: float
    clipped: float


def _measured(decoded: Iterable[Mono], rate: int) -> tuple[list[_Piece], bool]:
    """As much as is looked at, and whether that is more than is used. Raises `RecordingRefused`."""
    pieces: list[_Piece] = []
    num_samples = 0
    for block in decoded:
        num_samples += len(block)
        pieces.append(_piece(block))
        if num_samples > MOST_SEARCHED:
            break
    return pieces, num_samples > MAX_DURATION_S * rate


def _piece(block: Mono) -> _Piece:
    magnitude = np.abs(block)
    peak = float(magnitude.max())  # NaN if any sample is
    if not math.isfinite(peak):
        raise RecordingRefused(RefusalCode.NOT_FINITE, "the recording has samples that are not finite numbers")
    mean = block[:, 0] if block.shape[1] == 1 else block.mean(axis=1, dtype=np.float32)
    side = (block[:, 0] - block[:, 1]) * np.float32(0.5) if block.shape[1] == 2 else block[:0, 0]
    return _Piece(mean, side, peak, float(np.count_nonzero(magnitude >= FULL_SCALE)) / block.size)


def _best(pieces: list[_Piece], rate: int) -> list[_Piece]:
    """Of a long recording the first run of pieces that has most speech, and none of it clipped."""
    levels = [max(_energy([piece.mean]), _energy([piece.side])) / piece.mean.size for piece in pieces]
    least = sorted(levels)[len(levels) * 9 // 10] * QUIET
    worth = [
        piece.mean.size if level >= least and piece.clipped <= MAX_CLIPPED_SHARE else 0
        for piece, level in zip(pieces, levels, strict=True)
    ]
    first, size, spoken = 0, 0, 0
    best, most = slice(0, 0), -1
    for end, piece in enumerate(pieces, 1):
        size, spoken = size + piece.mean.size, spoken + worth[end - 1]
        while size > MAX_DURATION_S * rate:
            size, spoken, first = size - pieces[first].mean.size, spoken - worth[first], first + 1
        if spoken > most:
            best, most = slice(first, end), spoken
    return pieces[best]


def _energy(blocks: Iterable[Mono]) -> float:
    return sum(float(np.square(block, dtype=np.float64).sum()) for block in blocks)


def _require_speakable(pieces: list[_Piece], level: float) -> None:
    """level: of what is used. Raises `RecordingRefused`."""
    if (peak := max(piece.peak for piece in pieces)) > MAX_PEAK:
        raise RecordingRefused(
            RefusalCode.CLIPPED, f"the recording peaks at {peak:.3g} times full scale; {MAX_PEAK:g} is the most"
        )
    clipped = sum(piece.clipped * piece.mean.size for piece in pieces)
    if (share := clipped / sum(piece.mean.size for piece in pieces)) > MAX_CLIPPED_SHARE:
        raise RecordingRefused(
            RefusalCode.CLIPPED, f"{share:.0%} of the recording is clipped; record it at a lower level"
        )
    if level < SILENCE_RMS:
        raise RecordingRefused(RefusalCode.SILENT, "the recording is silent")
