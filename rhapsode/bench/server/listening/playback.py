"""What somebody hears who plays a stream from its first sample on, with no buffer at all. Pure."""

from __future__ import annotations


class Playback:
    """Pieces of audio with the time at which each came, all in seconds of one clock.

    audio_s: of all of it. gaps: how often there was nothing to play in the middle; gap_s: for how long, all of them;
    longest_gap_s. buffer_s: with so much more patience before the first sample there would have been none.
    """

    def __init__(self) -> None:
        self.audio_s = 0.0
        self.gaps = 0
        self.gap_s = 0.0
        self.longest_gap_s = 0.0
        self.buffer_s = 0.0
        self._first_s: float | None = None
        self._plays_until_s = 0.0
        self._pieces: list[tuple[float, float]] | None = []  # where each begins in the audio, and when it is played

    @property
    def first_s(self) -> float | None:
        """When the first piece came, which is when it is played."""
        return self._first_s

    def add(self, seconds: float, now_s: float) -> None:
        if seconds <= 0:
            return
        if self._first_s is None:
            self._first_s = self._plays_until_s = now_s
        elif now_s > self._plays_until_s:
            late_s = now_s - self._plays_until_s
            self.gaps += 1
            self.gap_s += late_s
            self.longest_gap_s = max(self.longest_gap_s, late_s)
            self._plays_until_s = now_s
        self.buffer_s = max(self.buffer_s, now_s - self._first_s - self.audio_s)
        if self._pieces is not None:
            self._pieces.append((self.audio_s, self._plays_until_s))
        self.audio_s += seconds
        self._plays_until_s += seconds

    def played_s(self, offset_s: float) -> float:
        """When what stands so far into the audio is played; nothing further back is asked for after that.

        Raises ValueError where it has not come.
        """
        if not self._pieces or not 0 <= offset_s <= self.audio_s:
            raise ValueError("there is no such place in what came")
        begins_s, played_s = next(piece for piece in reversed(self._pieces) if piece[0] <= offset_s)
        self._pieces = None
        return played_s + offset_s - begins_s
