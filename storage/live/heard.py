"""When a listener hears a stream: how far ahead of them it is, and where they would have run dry. Pure."""

from __future__ import annotations

UNDERRUN_S = 0.001
"""What is missing of less is rounding."""


class HeardClock:
    """Of a listener without a buffer, who begins with the first chunk and hears as fast as speech goes."""

    def __init__(self, sample_rate_hz: int) -> None:
        self._rate = sample_rate_hz
        self._began_s: float | None = None
        self._num_samples = 0
        self.underruns = 0

    @property
    def has_begun(self) -> bool:
        return self._began_s is not None

    @property
    def audio_s(self) -> float:
        return self._num_samples / self._rate

    def lead_s(self, now_s: float) -> float:
        """How much of the received audio is not played yet; negative since a buffer underrun."""
        return 0.0 if self._began_s is None else self._began_s + self.audio_s - now_s

    def add(self, num_samples: int, now_s: float, *, may_wait: bool) -> None:
        """may_wait: the text is still being written, so silence may be the writer's."""
        if self._began_s is None:
            self._began_s = now_s
        lead_s = self.lead_s(now_s)
        if lead_s < 0:
            self.underruns += lead_s < -UNDERRUN_S and not may_wait
            # They hear on from here, that much later.
            self._began_s -= lead_s
        self._num_samples += num_samples
