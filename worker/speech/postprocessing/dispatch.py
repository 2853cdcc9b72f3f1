"""Who gets which line: everybody one of the least busy process, a suspect a process with nobody beside it.

A process that dies takes all its calls along, and nobody can say which of them it died of. So each is tried once more
in the same place, alone; what dies then is to blame, and the others have lost nothing but time.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from worker.engine.process.watchdog import Backoff
from worker.speech.postprocessing.channel import Line
from worker.speech.postprocessing.child import FinisherChild

logger = logging.getLogger(__name__)

QUEUE_S = 60.0
"""How long a call waits for a line. There is one for each thread of the worker, so only restarts make it wait."""

LOOK_S = 1.0
"""Between looks for processes that have ended while nobody asked anything of them."""


class FinisherDied(Exception):
    """No process was left to finish a segment, or each that tried died of it."""


class FinishersClosed(Exception):
    """The worker is leaving; its finishers take nothing any more."""

    def __init__(self) -> None:
        super().__init__("the finishers were closed")


class CallBrokenOff(Exception):
    """The process that had the call has ended; another will take its place."""

    def __init__(self, place: Place) -> None:
        super().__init__("the finisher process ended")
        self.place = place


@dataclass(slots=True, eq=False)
class Place:
    """One process's place. To be looked at under the lock of its `Places`.

    child: None while it is started again. suspects: calls that want it for themselves, one after the other.
    """

    child: FinisherChild | None = None
    suspects: int = 0
    has_served: bool = False
    backoff: Backoff = field(default_factory=Backoff)


Find = Callable[[], tuple[Place, FinisherChild] | None]
"""Where there is a line of the wanted kind now, if anywhere."""


class Places:
    """Any thread may call any method, `next_vacancy` only one."""

    def __init__(self, number: int, lines_each: int) -> None:
        self._all = [Place() for _ in range(number)]
        self._lines_each = lines_each
        self._deaths = 0
        self._closing = False
        self._lock = threading.Lock()
        # Each wakes those it concerns: a line that is given back is of no use to who waits for an empty process.
        self._line_idle = threading.Condition(self._lock)
        self._process_empty = threading.Condition(self._lock)
        self._place_vacant = threading.Condition(self._lock)

    @property
    def pids(self) -> tuple[int, ...]:
        """Of the processes that run."""
        with self._lock:
            return tuple(place.child.pid for place in self._all if place.child)

    @property
    def deaths(self) -> int:
        with self._lock:
            return self._deaths

    @property
    def all(self) -> Sequence[Place]:
        return self._all

    @contextmanager
    def line_among_others(self) -> Generator[Line]:
        """A line of the process with most idle ones.

        Raises `FinishersClosed`, `FinisherDied` if there is none for a minute, and `CallBrokenOff` for an `OSError`.

        Whatever is raised in the block, its process is killed: of a conversation that was broken off nobody knows how
        it would have gone on.
        """
        with self._lent(self._line_idle, self._least_busy) as line:
            yield line

    @contextmanager
    def line_alone(self, place: Place) -> Generator[Line]:
        """A line of the process in that place while it has no other call. Else as `line_among_others`."""
        with self._lock:
            place.suspects += 1
        try:
            with self._lent(self._process_empty, lambda: self._empty(place)) as line:
                yield line
        finally:
            with self._lock:
                place.suspects -= 1
                if not place.suspects:
                    self._line_idle.notify_all()

    def fill(self, place: Place, child: FinisherChild) -> bool:
        """The process is ready. False if nobody wants it any more."""
        with self._lock:
            if self._closing:
                return False
            place.child = child
            self._line_idle.notify_all()
            self._process_empty.notify_all()
            return True

    def next_vacancy(self) -> Place | None:
        """A place whose process has ended, once it is time to start another; None from `close` on."""
        while not self._awaits_vacancy():
            self._bury_the_dead()
        with self._lock:
            if self._closing:
                return None
            vacant = next(place for place in self._all if place.child is None)
            delay_s = vacant.backoff.delay_s(served=vacant.has_served)
            vacant.has_served = False
            self._place_vacant.wait_for(lambda: self._closing, delay_s)
            return None if self._closing else vacant

    def close(self) -> Sequence[FinisherChild]:
        """No more lines: whoever waits for one is refused. Returns the processes that are there. Idempotent."""
        with self._lock:
            self._closing = True
            for condition in (self._line_idle, self._process_empty, self._place_vacant):
                condition.notify_all()
            children = [place.child for place in self._all if place.child]
            for place in self._all:
                place.child = None
            return children

    @contextmanager
    def _lent(self, changed: threading.Condition, find: Find) -> Generator[Line]:
        place, child, line = self._taken(changed, find)
        try:
            yield line
        except OSError as error:
            self._bury(place, child, error)
            raise CallBrokenOff(place) from error
        except BaseException as error:
            self._bury(place, child, error)
            raise
        finally:
            self._give_back(place, child, line)

    def _taken(self, changed: threading.Condition, find: Find) -> tuple[Place, FinisherChild, Line]:
        with self._lock:
            changed.wait_for(lambda: self._closing or find() is not None, QUEUE_S)
            if self._closing:
                raise FinishersClosed
            found = find()
            if found is None:
                raise FinisherDied(f"no finisher process was there for {QUEUE_S:.0f} s")
            place, child = found
            return place, child, child.idle.pop()

    def _give_back(self, place: Place, child: FinisherChild, line: Line) -> None:
        with self._lock:
            if place.child is not child:
                line.close()
                return
            place.has_served = True
            child.idle.append(line)
            if place.suspects:
                self._process_empty.notify_all()
            else:
                self._line_idle.notify()

    def _awaits_vacancy(self) -> bool:
        """Whether there is something to do for who fills places: at once if there is, else after a while."""
        with self._lock:
            return self._place_vacant.wait_for(
                lambda: self._closing or any(place.child is None for place in self._all), LOOK_S
            )

    def _bury_the_dead(self) -> None:
        with self._lock:
            dead = [(place, place.child) for place in self._all if place.child and place.child.has_ended]
        for place, child in dead:
            self._bury(place, child, ProcessLookupError("it ended while it had nothing to do, or was killed"))

    def _bury(self, place: Place, child: FinisherChild, error: BaseException) -> None:
        """The first who notices does it."""
        with self._lock:
            if place.child is not child:
                return
            place.child = None
            self._deaths += 1
            self._place_vacant.notify()
        child.end()
        logger.error("a finisher process ended", extra={"finisher": child.pid, "error": str(error)})

    # ------------------------------------------------------------------------------------------ under the lock

    def _least_busy(self) -> tuple[Place, FinisherChild] | None:
        usable = [(place, place.child) for place in self._all if place.child and place.child.idle]
        open_to_all = [each for each in usable if not each[0].suspects]
        return max(open_to_all, key=lambda each: len(each[1].idle), default=None)

    def _empty(self, place: Place) -> tuple[Place, FinisherChild] | None:
        """The place, if its process has no call."""
        if place.child is None or len(place.child.idle) < self._lines_each:
            return None
        return place, place.child
