"""One long stream encoded by several threads: each encodes a stretch, and the packets of all make one stream.

A stretch ends at a quiet place, on the grid of its format's frames. Its encoder starts earlier and stops later, so the
frames at a joint fit together. The samples decide where stretches end: every machine makes equal bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from rhapsode.contract.jobs.output import AudioFormat, OutputFormat
from storage.audio.encoding import Packet, encoded_stretch
from storage.audio.wav import BYTES_PER_SAMPLE
from worker.assembly.in_order import in_order
from worker.engine.cores import usable_cores

LEAST_S, MOST_S = 40, 60
LEAD_S = {AudioFormat.OPUS: 2, AudioFormat.MP3: 2}
SLOW_LEAD_S = 8
"""FFmpeg's AAC encoder finds its step sizes slowly."""

MOST_ENCODERS = {AudioFormat.OPUS: 4}
OTHERS_MOST_ENCODERS = 8
"""More wait for the interpreter: on 16 cores, half an hour of Opus took 9.4 s with one, 4.1 with 4 and 6.5 with 8."""

_TAIL_FRAMES = 8
_QUIET_FRAMES = 6

Stretch = tuple[bytes, int, int, int | None]
"""As `encoded_stretch` takes it: samples, place of the first, begin and end."""


def encoded(form: OutputFormat, sample_rate_hz: int, blocks: Iterable[bytes]) -> Iterator[list[Packet]]:
    """The packets of the stream, a stretch at a time."""
    num_encoders = min(usable_cores(), MOST_ENCODERS.get(form.type, OTHERS_MOST_ENCODERS))
    every = stretches(form.type, sample_rate_hz, blocks)
    return in_order(lambda each: encoded_stretch(form, sample_rate_hz, *each), every, num_encoders, "encoder")


def stretches(form: AudioFormat, sample_rate_hz: int, blocks: Iterable[bytes]) -> Iterator[Stretch]:
    """Consecutive ones, all but the last of whole frames."""
    frame = {AudioFormat.OPUS: sample_rate_hz // 50, AudioFormat.MP3: 1152}.get(form, 1024)
    seconds = (LEAST_S, MOST_S, LEAD_S.get(form, SLOW_LEAD_S))
    least, most, lead = (each * sample_rate_hz // frame * frame for each in seconds)
    held, position, begin = bytearray(), 0, 0
    for block in blocks:
        held += block
        while len(held) >= (begin - position + most + _TAIL_FRAMES * frame) * BYTES_PER_SAMPLE:
            end = begin + least + _quietest(held, begin - position + least, most - least, frame)
            num_taken = end - position + _TAIL_FRAMES * frame
            yield bytes(held[: num_taken * BYTES_PER_SAMPLE]), position, begin, end
            start = max(position, end - lead)
            del held[: (start - position) * BYTES_PER_SAMPLE]
            position, begin = start, end
    yield bytes(held), position, begin, None


def _quietest(pcm: bytearray, start: int, length: int, frame: int) -> int:
    """The frame with the least energy around it, in samples from `start`."""
    around = _QUIET_FRAMES // 2 * frame
    samples = np.frombuffer(pcm, "<i2", length + 2 * around, (start - around) * BYTES_PER_SAMPLE)
    energy = np.square(samples.astype(np.int64)).reshape(-1, frame).sum(axis=1)
    return int(np.convolve(energy, np.ones(_QUIET_FRAMES, np.int64), "valid").argmin()) * frame
