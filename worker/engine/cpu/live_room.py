"""While live speech runs, others join the batch only as far as it keeps up with its listeners. Pure: time comes in.

On a CPU every row makes each frame slower for all. A frame is 80 ms of speech, so a live stream whose frames take
longer runs dry. One other row goes on all the same, so that nothing waits for as long as anybody listens.
"""

from __future__ import annotations

MOST_STEP_S = 0.04
"""Half of a frame: the codec works beside the talker, and listeners begin with little in hand."""


class LiveRoom:
    """Single-threaded: belongs to the engine's loop."""

    def __init__(self) -> None:
        self._row_s = 0.0

    def measured(self, step_s: float, num_rows: int) -> None:
        """A step of so many rows has taken so long."""
        self._row_s = step_s / num_rows

    def admits(self, num_others: int, num_live: int) -> bool:
        """Whether one more may join the others, beside so many rows of live speech that do not stand still."""
        return not num_live or not num_others or self._row_s * (num_others + num_live + 1) <= MOST_STEP_S
