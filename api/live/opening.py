"""A job's first segment as a listener of the job hears it while it is spoken, by whichever worker has it.

Every worker of the model is asked, as none is known to have the segment before it speaks. The first attempt that begins
is heard, to its end or until it breaks off; whether it is the one that was kept is for the listener to find out.
"""

from __future__ import annotations

import asyncio
from collections import deque

from api.live.link import WorkerLink
from storage.ids import JobId
from storage.live.messages import Audio, FromWorker, JobOpening, Listen, OpeningOver


class HeardOpening:
    """For the event loop and one reader.

    begun: the attempt that is heard, None before one is. is_over: no more comes of it; is_whole: all of it came.
    """

    def __init__(self, stream_id: str, job: JobId, model: str) -> None:
        self._listen = Listen(stream=stream_id, job=job)
        self._model = model
        self._ears: dict[WorkerLink, _Ear] = {}
        self._pieces: deque[bytes] = deque()
        self._news = asyncio.Event()
        self.begun: JobOpening | None = None
        self.sample_rate_hz = 0
        self.is_over = self.is_whole = False

    def listen_at(self, link: WorkerLink) -> None:
        """Of a worker that has introduced itself; of another model, or of a release before, nothing is asked."""
        if link.hello is None or link.hello.model != self._model or not link.address.tells_openings or self.begun:
            return
        ear = self._ears[link] = _Ear(self, link)
        link.listen(self._listen, ear)

    def leave(self) -> None:
        for link in tuple(self._ears):
            self._leave_one(link)
        self.is_over = True

    async def moved(self) -> None:
        """Returns when there is a piece, or the end."""
        while not (self._pieces or self.is_over):
            self._news.clear()
            await self._news.wait()

    def piece(self) -> bytes:
        """What came since the last: s16le, mono; nothing if nothing did."""
        data = b"".join(self._pieces)
        self._pieces.clear()
        return data

    def take(self, ear: _Ear, head: FromWorker, payload: bytes) -> None:
        match head:
            case JobOpening() if self.begun is None and ear.link.hello is not None:
                self._begin(ear, head, ear.link.hello.sample_rate_hz)
            case JobOpening():
                # Another attempt: nothing more comes of the one that was heard.
                self._end()
            case Audio() if not self.is_over:
                self._pieces.append(payload)
                self._news.set()
            case OpeningOver():
                self.is_whole = head.is_whole and not self.is_over
                self._end()
            case _:
                pass

    def lose(self, ear: _Ear) -> None:
        del self._ears[ear.link]
        if self.begun is not None:
            self._end()

    def _begin(self, ear: _Ear, head: JobOpening, sample_rate_hz: int) -> None:
        self.begun, self.sample_rate_hz = head, sample_rate_hz
        for link in tuple(self._ears):
            if link is not ear.link:
                self._leave_one(link)

    def _end(self) -> None:
        for link in tuple(self._ears):
            self._leave_one(link)
        self.is_over = True
        self._news.set()

    def _leave_one(self, link: WorkerLink) -> None:
        del self._ears[link]
        link.leave(self._listen.stream, is_over=False)


class _Ear:
    """A `Passenger`: the listener at one worker."""

    def __init__(self, opening: HeardOpening, link: WorkerLink) -> None:
        self._opening = opening
        self.link = link

    def take(self, head: FromWorker, payload: bytes) -> None:
        self._opening.take(self, head, payload)

    def lead_s(self) -> float:
        """Streams are told first of a connection that is lost."""
        return float("inf")

    def lose(self) -> None:
        self._opening.lose(self)
