"""Time and pitch apart: overlap and add of pieces that fit each other (WSOLA), and another rate."""

from __future__ import annotations

import numpy as np

from worker.engine.interface import Pcm

_PIECE_S, _SEARCH_S = 0.04, 0.01


def stretched(pcm: Pcm, rate_hz: int, factor: float) -> Pcm:
    """So many times as long, at the same pitch."""
    size, search = round(_PIECE_S * rate_hz), round(_SEARCH_S * rate_hz)
    hop = size // 2
    window = np.hanning(size)
    padded = np.pad(pcm.astype(np.float64), (search, size + 2 * search))
    count = max(1, round(len(pcm) * factor) // hop)
    out = np.zeros(count * hop + size)
    place = 0
    for number in range(count):
        wanted = round(number * hop / factor)
        if number:
            place = wanted + _best_shift(padded, place + hop, wanted, hop, search)
        out[number * hop : number * hop + size] += window * _piece(padded, place, size, search)
    return out[: round(len(pcm) * factor)].astype(np.float32)


def shifted(pcm: Pcm, rate_hz: int, semitones: float) -> Pcm:
    """As long, with everything higher by so much."""
    ratio = 2 ** (semitones / 12)
    longer = stretched(pcm, rate_hz, ratio)
    places = np.arange(len(pcm)) * (len(longer) - 1) / max(1, len(pcm) - 1)
    return np.interp(places, np.arange(len(longer)), longer).astype(np.float32)


def _piece(padded: np.ndarray, place: int, size: int, search: int) -> np.ndarray:
    found = padded[max(0, place + search) : place + search + size]
    return np.pad(found, (0, size - len(found)))


def _best_shift(padded: np.ndarray, natural: int, wanted: int, size: int, search: int) -> int:
    """Where what comes next sounds like what would have come next."""
    target = _piece(padded, natural, size, search)
    field = padded[max(0, wanted) : wanted + size + 2 * search]
    if len(field) < size + 2 * search:
        return 0
    return int(np.correlate(field, target, "valid").argmax()) - search
