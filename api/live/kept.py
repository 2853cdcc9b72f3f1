"""What this process keeps of a stream so that another worker can go on with it: a few bytes a frame. Pure."""

from __future__ import annotations

from storage.live.messages import Audio, ExtendStream, Resume, SegmentBegins
from storage.live.orders import LiveOrder


class KeptStream:
    """The order with all of its text so far, and the codes of the current segment."""

    def __init__(self, order: LiveOrder) -> None:
        self._order = order
        self._texts = [order.text]
        self.text_is_open = order.text_is_open
        self._segment = 0
        self._codes: list[bytes] = []
        self._num_samples = 0
        self._has_pause = False

    @property
    def num_chars(self) -> int:
        return sum(len(each) for each in self._texts)

    def extend(self, extension: ExtendStream) -> None:
        self._texts.append(extension.text)
        self.text_is_open = not extension.is_last

    def begin(self, segment: SegmentBegins) -> bool:
        """Whether it is another one than the one that is kept, rather than the same one resumed."""
        if segment.index == self._segment:
            return False
        self._next(segment.index)
        return True

    def keep(self, audio: Audio, codes: bytes) -> None:
        if audio.segment != self._segment:
            self._next(audio.segment)
        # Audio without frames is the pause that ends its segment: another worker sends no second one.
        self._has_pause = audio.num_samples > 0 and audio.num_frames == 0
        self._codes.append(codes)
        self._num_samples += audio.num_samples

    def end(self, segment: int) -> None:
        self._next(segment + 1)

    def order(self) -> LiveOrder:
        """For the next worker."""
        self._texts = ["".join(self._texts)]
        return self._order.model_copy(update={"text": self._texts[0], "text_is_open": self.text_is_open})

    def resume(self) -> tuple[Resume | None, bytes]:
        """Where the next worker goes on, and the codes for that; None at the beginning.

        A segment whose audio so far was only silence, which was trimmed, starts from its beginning: the part that
        belongs to speech is unknown.
        """
        if self._has_pause:
            return Resume(segment=self._segment + 1), b""
        if self._num_samples == 0:
            return (Resume(segment=self._segment), b"") if self._segment else (None, b"")
        return Resume(segment=self._segment, num_samples_heard=self._num_samples), b"".join(self._codes)

    def _next(self, segment: int) -> None:
        self._segment, self._codes, self._num_samples, self._has_pause = segment, [], 0, False
