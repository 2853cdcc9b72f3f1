"""What can be measured of a finished audio file of any format, in one pass and little memory.

Loudness and true peak are FFmpeg's (`ebur128`): it takes any number of channels, and at the levels of finished audio it
is as exact as ours. Levels and silences come from the power of 10 ms: eight bytes each, 3 MB an hour.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import av
import av.filter
import numpy as np
from av.audio.frame import AudioFrame
from av.audio.resampler import AudioResampler
from av.audio.stream import AudioStream
from av.container import InputContainer
from av.error import FFmpegError
from numpy.typing import NDArray

WINDOW_S = 0.01
FLOOR_WINDOWS = 50
"""Half a second: the quietest is the noise floor."""

SPEECH_BELOW_RMS_DB = 25.0
"""What is quieter than the whole by more is before the first word, or behind the last."""


class NotAudio(ValueError):
    """The file holds no sound that FFmpeg can read."""


@dataclass(frozen=True, slots=True)
class FileMeasures:
    """Levels in dB of full scale, -inf for silence.

    codec: FFmpeg's name. bitrate_kbps: mean of its packets. is_constant_bitrate: whether these are equally long, but
    for a byte of padding. noise_floor_db: RMS of the quietest half second. head_s, tail_s: before the first sound, and
    behind the last.
    """

    codec: str
    channels: int
    sample_rate_hz: int
    bitrate_kbps: float
    is_constant_bitrate: bool
    duration_s: float
    rms_db: float
    peak_db: float
    noise_floor_db: float
    loudness_lufs: float
    true_peak_db: float
    head_s: float
    tail_s: float


def measure_file(path: Path) -> FileMeasures:
    """Raises `NotAudio`, and `OSError` for a file that cannot be opened."""
    try:
        with av.open(str(path)) as container:
            if not container.streams.audio:
                raise NotAudio(f"{path} holds no audio")
            return _measured(container, container.streams.audio[0], path)
    except OSError:
        raise
    except FFmpegError as error:
        raise NotAudio(f"{path} cannot be read as audio: {error.strerror}") from error


def _measured(container: InputContainer, stream: AudioStream, path: Path) -> FileMeasures:
    levels, loudness, packets = _Levels(stream.rate), _Loudness(stream), _Packets()
    for frame in _frames(container, stream, packets):
        levels.add(frame)
        loudness.add(frame)
    if not levels.num_samples:
        raise NotAudio(f"{path} holds no sound at all")
    powers, duration_s = levels.powers(), levels.num_samples / stream.rate
    head_s, tail_s = _edges(powers, duration_s)
    return FileMeasures(
        codec=stream.codec_context.name,
        channels=stream.codec_context.layout.nb_channels,
        sample_rate_hz=stream.rate,
        bitrate_kbps=packets.num_bytes * 8 / duration_s / 1000,
        is_constant_bitrate=packets.longest - packets.shortest <= 1,
        duration_s=duration_s,
        rms_db=_power_db(levels.power / levels.num_samples),
        peak_db=_power_db(levels.peak**2),
        noise_floor_db=_power_db(_floor(powers)),
        loudness_lufs=loudness.integrated_lufs,
        true_peak_db=_power_db(loudness.true_peak**2),
        head_s=head_s,
        tail_s=tail_s,
    )


class _Packets:
    """Lengths in bytes. The last packet does not count: it may be cut."""

    def __init__(self) -> None:
        self.num_bytes, self.shortest, self.longest = 0, 0, 0
        self._last: int | None = None

    def add(self, num_bytes: int) -> None:
        self.num_bytes += num_bytes
        if self._last is not None:
            self.shortest = min(self.shortest or self._last, self._last)
            self.longest = max(self.longest, self._last)
        self._last = num_bytes


def _frames(container: InputContainer, stream: AudioStream, packets: _Packets) -> Iterator[AudioFrame]:
    for packet in container.demux(stream):
        if packet.size:
            packets.add(packet.size)
        yield from packet.decode()


class _Levels:
    """Mean power over the channels, the highest sample of any, and the power of every window."""

    def __init__(self, sample_rate_hz: int) -> None:
        self._resampler = AudioResampler(format="fltp")
        self._window = max(1, round(WINDOW_S * sample_rate_hz))
        self._pending = np.zeros(0)
        self._powers: list[NDArray[np.float64]] = []
        self.num_samples, self.power, self.peak = 0, 0.0, 0.0

    def add(self, frame: AudioFrame) -> None:
        for planar in self._resampler.resample(frame):
            samples: NDArray[np.float64] = planar.to_ndarray().astype(np.float64)
            squares = np.square(samples).mean(axis=0)
            self.num_samples += len(squares)
            self.power += float(squares.sum())
            self.peak = max(self.peak, float(np.abs(samples).max(initial=0.0)))
            self._cut(np.concatenate((self._pending, squares)))

    def powers(self) -> NDArray[np.float64]:
        """Of each window, shape (W,); what does not fill one is a window too."""
        rest = [self._pending.mean(keepdims=True)] if len(self._pending) else []
        return np.concatenate([np.zeros(0), *self._powers, *rest])

    def _cut(self, squares: NDArray[np.float64]) -> None:
        whole = len(squares) // self._window * self._window
        self._powers.append(squares[:whole].reshape(-1, self._window).mean(axis=1))
        self._pending = squares[whole:]


class _Loudness:
    """FFmpeg's filter says what it has found so far with each 100 ms that leave it."""

    def __init__(self, stream: AudioStream) -> None:
        self.integrated_lufs, self.true_peak = -math.inf, 0.0
        self._graph = av.filter.Graph()
        source = self._graph.add_abuffer(template=stream)
        meter = self._graph.add("ebur128", "metadata=1:peak=true")
        sink = self._graph.add("abuffersink")
        source.link_to(meter)
        meter.link_to(sink)
        self._graph.configure()

    def add(self, frame: AudioFrame) -> None:
        self._graph.push(frame)
        while (said := self._next()) is not None:
            self.integrated_lufs = float(said["lavfi.r128.I"])
            self.true_peak = float(said["lavfi.r128.true_peak"])

    def _next(self) -> dict[str, str] | None:
        try:
            return self._graph.pull().metadata
        except BlockingIOError:
            return None


def _edges(powers: NDArray[np.float64], duration_s: float) -> tuple[float, float]:
    """Seconds before the first window with sound, and behind the last; both the whole for silence."""
    loud = np.flatnonzero(powers > powers.mean() * 10 ** (-SPEECH_BELOW_RMS_DB / 10))
    if not len(loud):
        return duration_s, duration_s
    return float(loud[0]) * WINDOW_S, max(0.0, duration_s - float(loud[-1] + 1) * WINDOW_S)


def _floor(powers: NDArray[np.float64]) -> float:
    """Of a file shorter than half a second, its own power."""
    if len(powers) < FLOOR_WINDOWS:
        return float(powers.mean())
    sums = np.cumsum(np.concatenate((np.zeros(1), powers)))
    return max(0.0, float((sums[FLOOR_WINDOWS:] - sums[:-FLOOR_WINDOWS]).min()) / FLOOR_WINDOWS)


def _power_db(power: float) -> float:
    return 10 * math.log10(power) if power > 0 else -math.inf
