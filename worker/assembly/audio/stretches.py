"""One long stream encoded by several threads: each encodes a stretch, and the packets of all make one stream.

A stretch ends at a quiet place, on the grid of its format's frames. Its encoder begins before the stretch and ends
behind it. So at a joint both encoders have heard the same, and a decoder's frames still overlap as in one encoding.
The stretches depend on the samples alone: every machine makes equal bytes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from rhapsode.contract.jobs.output import AudioFormat, OutputFormat
from storage.audio.encoding import BYTES_PER_SAMPLE, Packet, encoded_stretch
from worker.engine.cores import usable_cores

MOST_S = 60
LEAST_S = 40
LEAD_S = {AudioFormat.M4B: 8, AudioFormat.AAC: 8}
"""FFmpeg's AAC encoder finds its step sizes slowly. For the others, 2 seconds are enough."""

MOST_ENCODERS = 16
"""Each holds a stretch in memory."""

_TAIL_FRAMES = 8
_QUIET_FRAMES = 6


@dataclass(frozen=True, slots=True)
class Stretch:
    """Samples of a stream from `position`. begin, end: what is kept of their encoding; None: to the end."""

    pcm: bytes
    position: int
    begin: int
    end: int | None


def is_long(form: OutputFormat, sample_rate_hz: int, num_samples: int) -> bool:
    """Whether a file is encoded in stretches. FLAC and WAV never are: they take little time."""
    return form.type not in (AudioFormat.FLAC, AudioFormat.WAV) and num_samples > MOST_S * sample_rate_hz


def encoded(form: OutputFormat, sample_rate_hz: int, blocks: Iterable[bytes]) -> Iterator[list[Packet]]:
    """The packets of the stream, a stretch at a time."""
    num_encoders = min(usable_cores(), MOST_ENCODERS)
    pool = ThreadPoolExecutor(num_encoders, thread_name_prefix="encoder")
    waiting: deque[Future[list[Packet]]] = deque()
    try:
        for each in stretches(form.type, sample_rate_hz, blocks):
            waiting.append(
                pool.submit(encoded_stretch, form, sample_rate_hz, each.pcm, each.position, each.begin, each.end)
            )
            if len(waiting) > num_encoders:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def frame_samples(form: AudioFormat, sample_rate_hz: int) -> int:
    """What one frame of the format holds, or two of MP3 at low rates."""
    match form:
        case AudioFormat.OPUS:
            return sample_rate_hz // 50
        case AudioFormat.MP3:
            return 1152
        case _:
            return 1024


def stretches(form: AudioFormat, sample_rate_hz: int, blocks: Iterable[bytes]) -> Iterator[Stretch]:
    """Consecutive stretches, all but the last of whole frames."""
    frame, lead = frame_samples(form, sample_rate_hz), LEAD_S.get(form, 2) * sample_rate_hz
    least, most = (seconds * sample_rate_hz // frame * frame for seconds in (LEAST_S, MOST_S))
    tail = _TAIL_FRAMES * frame
    held, position, begin = bytearray(), 0, 0
    for block in blocks:
        held += block
        while len(held) >= (begin + most + tail - position) * BYTES_PER_SAMPLE:
            end = begin + least + _quietest(held, begin + least - position, most - least, frame)
            yield Stretch(bytes(held[: (end + tail - position) * BYTES_PER_SAMPLE]), position, begin, end)
            start = max(position, (end - lead) // frame * frame)
            del held[: (start - position) * BYTES_PER_SAMPLE]
            position, begin = start, end
    yield Stretch(bytes(held), position, begin, None)


def _quietest(pcm: bytearray, start: int, length: int, frame: int) -> int:
    """The frame with the least energy around it, in samples from `start`."""
    around = _QUIET_FRAMES // 2 * frame
    samples = np.frombuffer(pcm, "<i2", length + 2 * around, (start - around) * BYTES_PER_SAMPLE)
    energy = np.square(samples.astype(np.int64)).reshape(-1, frame).sum(axis=1)
    return int(np.convolve(energy, np.ones(_QUIET_FRAMES, np.int64), "valid").argmin()) * frame
