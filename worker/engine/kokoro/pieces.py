"""A text's sound in growing pieces, so that its beginning is ready soon. Pure.

Length and pitch of the whole text are known before there is sound, so that all pieces speak one sentence. Each is made
with some frames before and after it, ends where it is quiet, and begins at the level of the piece before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from worker.engine.interface import Pcm

FIRST = 40
"""Frames of the first two pieces, from the first phone; each later one is half as long again as the one before."""
_CONTEXT = 16
"""Frames that are made before and after a piece and dropped: without them the level changes by 2 dB."""
_SEARCHED = 12
"""The last frames of a piece, the quietest of which is the first of the next: 0.3 s hold the end of a word."""
_COMPARED = 8
"""Frames on either side of a joint whose level is compared."""
_LEVELLED = 40
"""Frames in which a piece comes back to its own level."""
_FADE_SAMPLES = 240
_MOST_GAIN = 1.25


def in_pieces(sound: Callable[[int, int], Pcm], num_frames: int, first: int) -> Iterator[Pcm]:
    """sound: of the frames between two numbers. first: frames of the first piece, at least `FIRST`."""
    start, size, behind = 0, first, None
    while start < num_frames:
        begin, goal = max(0, start - _CONTEXT), start + size
        is_last = goal + 2 * _CONTEXT >= num_frames
        until = num_frames if is_last else goal + _CONTEXT
        made = sound(begin, until).reshape(until - begin, -1)
        if behind is not None:
            _join(behind, made[start - begin - _COMPARED :])
        end = num_frames if is_last else goal - _SEARCHED + _quietest(made[goal - _SEARCHED - begin : goal - begin])
        yield made[start - begin : end - begin].reshape(-1)
        start, size, behind = end, size * 3 // 2 if start else FIRST, made[end - begin - _COMPARED :]


def _join(last: Pcm, made: Pcm) -> None:
    """`made` continues `last`; both (frames, samples) begin `_COMPARED` frames before the joint."""
    levels = [float(np.sqrt(np.square(each[: 2 * _COMPARED]).mean())) for each in (last, made)]
    gain = min(max(levels[0] / max(levels[1], 1e-6), 1 / _MOST_GAIN), _MOST_GAIN)
    heard = made[_COMPARED:]
    back = np.linspace(gain, 1, min(_LEVELLED, len(heard)) * heard.shape[1], dtype=np.float32)
    heard[:_LEVELLED] *= back.reshape(-1, heard.shape[1])
    rise = np.linspace(0, 1, _FADE_SAMPLES, dtype=np.float32)
    heard[0, :_FADE_SAMPLES] *= rise
    heard[0, :_FADE_SAMPLES] += (1 - rise) * last[_COMPARED, :_FADE_SAMPLES]


def _quietest(frames: Pcm) -> int:
    return int(np.argmin(np.square(frames).sum(axis=1)))
