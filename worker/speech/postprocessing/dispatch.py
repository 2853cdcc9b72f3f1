"""Dispatches calls to post-processing processes: the least busy one takes a call, a suspect call runs alone.

A process that dies takes all its calls along, and it cannot be known which of them it died of. So each is tried once
more alone in the same slot; what dies then is to blame, and the others have lost nothing but time.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from storage.runtime.observability.metrics import counter
from worker.process.children.backoff import Backoff
from worker.process.children.channel import Channel
from worker.speech.postprocessing.child import PostProcessorProcess

logger = logging.getLogger(__name__)

_DEATHS = counter("rhapsode_postprocessor_deaths")

QUEUE_S = 60.0
"""How long a call waits for a channel. There is one for each thread of the worker, so only restarts make it wait."""

LOOK_S = 1.0
"""Between looks for processes that have ended while they had no call."""


class PostProcessorDied(Exception):
    """No process was left to finish a segment, or each that tried died of it."""


class PostProcessorsClosed(Exception):
    """The worker is leaving; its post-processors take nothing any more."""

    def __init__(self) -> None:
        super().__init__("the post-processors were closed")


class CallBrokenOff(Exception):
    """The process that had the call has ended; another will take its place."""

    def __init__(self, slot: ProcessSlot) -> None:
        super().__init__("the post-processor process ended")
        self.slot = slot


@dataclass(slots=True, eq=False)
class ProcessSlot:
    """Where one process runs. To be read under the lock of its `Dispatcher`.

    child: None while it is started again. suspects: calls that want it for themselves, one after the other.
    """

    child: PostProcessorProcess | None = None
    suspects: int = 0
    has_served: bool = False
    backoff: Backoff = field(default_factory=Backoff)


Find = Callable[[], tuple[ProcessSlot, PostProcessorProcess] | None]
"""A process with an idle channel of the wanted kind, if there is one now."""


class Dispatcher:
    """Any thread may call any method, `next_vacancy` only one."""

    def __init__(self, number: int, channels_each: int) -> None:
        self.slots = [ProcessSlot() for _ in range(number)]
        self._channels_each = channels_each
        self._closing = False
        self._lock = threading.Lock()
        # Each wakes those it concerns: a channel that is given back is of no use to who waits for an empty process.
        self._channel_idle = threading.Condition(self._lock)
        self._process_empty = threading.Condition(self._lock)
        self._slot_vacant = threading.Condition(self._lock)

    @property
    def pids(self) -> tuple[int, ...]:
        """Of the processes that run."""
        with self._lock:
            return tuple(slot.child.pid for slot in self.slots if slot.child)

    @contextmanager
    def shared_channel(self) -> Generator[Channel]:
        """A channel of the process with most idle ones.

        Raises `PostProcessorsClosed`, `PostProcessorDied` if there is none for a minute, and `CallBrokenOff` for an
        `OSError`.

        Whatever is raised in the block, its process is killed: of a conversation that was broken off it is not known
        how it would have gone on.
        """
        with self._lent(self._channel_idle, self._least_busy) as channel:
            yield channel

    @contextmanager
    def exclusive_channel(self, slot: ProcessSlot) -> Generator[Channel]:
        """A channel of the process in that slot while it has no other call. Else as `shared_channel`."""
        with self._lock:
            slot.suspects += 1
        try:
            with self._lent(self._process_empty, lambda: self._empty(slot)) as channel:
                yield channel
        finally:
            with self._lock:
                slot.suspects -= 1
                if not slot.suspects:
                    self._channel_idle.notify_all()

    def fill(self, slot: ProcessSlot, child: PostProcessorProcess) -> bool:
        """The process is ready. False if the pool has closed."""
        with self._lock:
            if self._closing:
                return False
            slot.child = child
            self._channel_idle.notify_all()
            self._process_empty.notify_all()
            return True

    def next_vacancy(self) -> ProcessSlot | None:
        """A slot whose process has ended, once it is time to start another; None from `close` on."""
        while not self._awaits_vacancy():
            self._retire_ended()
        with self._lock:
            if self._closing:
                return None
            vacant = next(slot for slot in self.slots if slot.child is None)
            delay_s = vacant.backoff.delay_s(served=vacant.has_served)
            vacant.has_served = False
            self._slot_vacant.wait_for(lambda: self._closing, delay_s)
            return None if self._closing else vacant

    def close(self) -> Sequence[PostProcessorProcess]:
        """No more channels: a call that waits for one is refused. Returns the processes that are there. Idempotent."""
        with self._lock:
            self._closing = True
            for condition in (self._channel_idle, self._process_empty, self._slot_vacant):
                condition.notify_all()
            children = [slot.child for slot in self.slots if slot.child]
            for slot in self.slots:
                slot.child = None
            return children

    @contextmanager
    def _lent(self, changed: threading.Condition, find: Find) -> Generator[Channel]:
        slot, child, channel = self._taken(changed, find)
        try:
            yield channel
        except OSError as error:
            self._retire(slot, child, error)
            raise CallBrokenOff(slot) from error
        except BaseException as error:
            self._retire(slot, child, error)
            raise
        finally:
            self._give_back(slot, child, channel)

    def _taken(self, changed: threading.Condition, find: Find) -> tuple[ProcessSlot, PostProcessorProcess, Channel]:
        with self._lock:
            changed.wait_for(lambda: self._closing or find() is not None, QUEUE_S)
            if self._closing:
                raise PostProcessorsClosed
            found = find()
            if found is None:
                raise PostProcessorDied(f"no post-processor process was there for {QUEUE_S:.0f} s")
            slot, child = found
            return slot, child, child.idle.pop()

    def _give_back(self, slot: ProcessSlot, child: PostProcessorProcess, channel: Channel) -> None:
        with self._lock:
            if slot.child is not child:
                channel.close()
                return
            slot.has_served = True
            child.idle.append(channel)
            if slot.suspects:
                self._process_empty.notify_all()
            else:
                self._channel_idle.notify()

    def _awaits_vacancy(self) -> bool:
        """Whether there is something to do for who fills slots: at once if there is, else after a while."""
        with self._lock:
            return self._slot_vacant.wait_for(
                lambda: self._closing or any(slot.child is None for slot in self.slots), LOOK_S
            )

    def _retire_ended(self) -> None:
        with self._lock:
            dead = [(slot, slot.child) for slot in self.slots if slot.child and slot.child.has_ended]
        for slot, child in dead:
            self._retire(slot, child, ProcessLookupError("it ended while it had nothing to do, or was killed"))

    def _retire(self, slot: ProcessSlot, child: PostProcessorProcess, error: BaseException) -> None:
        """The first who notices does it."""
        with self._lock:
            if slot.child is not child:
                return
            slot.child = None
            _DEATHS.inc()
            self._slot_vacant.notify()
        child.end()
        logger.error("a post-processor process ended", extra={"postprocessor": child.pid, "error": str(error)})

    # ------------------------------------------------------------------------------------------ under the lock

    def _least_busy(self) -> tuple[ProcessSlot, PostProcessorProcess] | None:
        usable = [(slot, slot.child) for slot in self.slots if slot.child and slot.child.idle]
        open_to_all = [each for each in usable if not each[0].suspects]
        return max(open_to_all, key=lambda each: len(each[1].idle), default=None)

    def _empty(self, slot: ProcessSlot) -> tuple[ProcessSlot, PostProcessorProcess] | None:
        """The slot, if its process has no call."""
        if slot.child is None or len(slot.child.idle) < self._channels_each:
            return None
        return slot, slot.child
