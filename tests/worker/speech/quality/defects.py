"""Good speech made bad: what a talker that goes wrong sends to the gate.

Each function returns speech with one defect. Samples and codec frames are changed together, as an engine would.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from worker.engine.interface import FinishReason, Speech

Spoil = Callable[[Speech, np.random.Generator], Speech]


def early_stop(speech: Speech, rng: np.random.Generator) -> Speech:
    """The end comes somewhere between a tenth and nine tenths."""
    return _joined(speech, [(0, max(1, round(len(speech.frames) * rng.uniform(0.1, 0.9))))])


def said_twice(speech: Speech, rng: np.random.Generator) -> Speech:
    """A stretch of half a second or more comes again at once."""
    length = int(rng.integers(min(6, len(speech.frames)), len(speech.frames) + 1))
    start = int(rng.integers(0, len(speech.frames) - length + 1))
    return _joined(speech, [(0, start + length), (start, len(speech.frames))])


def loop(speech: Speech, rng: np.random.Generator) -> Speech:
    """From some place on, the last few frames come again and again, until the talker finds the end."""
    length = int(rng.integers(2, 12))
    place = int(rng.integers(min(length, len(speech.frames)), len(speech.frames) + 1))
    turns = [(max(0, place - length), place)] * int(rng.integers(4, 20))
    return _joined(speech, [(0, place), *turns])


def runaway(speech: Speech, rng: np.random.Generator) -> Speech:
    """The end never comes: frames of anything up to the limit."""
    times = int(rng.integers(3, 8))
    return replace(_joined(speech, [(0, len(speech.frames))] * times), finish_reason=FinishReason.LENGTH)


def swallowed(speech: Speech, rng: np.random.Generator) -> Speech:
    """Between a third and all of it is silence of the same length."""
    length = max(1, round(len(speech.frames) * rng.uniform(0.34, 1)))
    start = int(rng.integers(0, len(speech.frames) - length + 1))
    return _hushed(speech, start, start + length)


def held_breath(speech: Speech, rng: np.random.Generator) -> Speech:
    """Between one and five seconds of silence somewhere inside."""
    place = int(rng.integers(1, len(speech.frames)))
    length = int(rng.integers(13, 63))
    longer = _joined(speech, [(0, place), *[(0, 1)] * length, (place, len(speech.frames))])
    return _hushed(longer, place, place + length)


def clipped(speech: Speech, rng: np.random.Generator) -> Speech:
    """Amplified until the loud parts are flat."""
    loud = np.quantile(np.abs(speech.pcm), rng.uniform(0.9, 0.98))
    return replace(speech, pcm=np.clip(speech.pcm / loud, -1, 1).astype(np.float32))


def not_a_number(speech: Speech, rng: np.random.Generator) -> Speech:
    pcm = speech.pcm.copy()
    pcm[rng.integers(0, len(pcm))] = np.nan
    return replace(speech, pcm=pcm)


SPOILS: dict[str, Spoil] = {
    spoil.__name__: spoil
    for spoil in (early_stop, said_twice, loop, runaway, swallowed, held_breath, clipped, not_a_number)
}


def _joined(speech: Speech, stretches: list[tuple[int, int]]) -> Speech:
    """The stretches [first, last) of frames one after the other."""
    size = len(speech.pcm) // len(speech.frames)
    return replace(
        speech,
        frames=np.concatenate([speech.frames[first:last] for first, last in stretches]),
        pcm=np.concatenate([speech.pcm[first * size : last * size] for first, last in stretches]),
    )


def _hushed(speech: Speech, first: int, last: int) -> Speech:
    """Silence as a codec makes it: a faint noise, and frames that are all the same."""
    size = len(speech.pcm) // len(speech.frames)
    pcm, frames = speech.pcm.copy(), speech.frames.copy()
    pcm[first * size : last * size] = np.random.default_rng(first).normal(0, 1e-4, (last - first) * size)
    frames[first:last] = 0
    return replace(speech, pcm=pcm, frames=frames)
