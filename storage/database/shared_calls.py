"""Calls of functions that travel together: what comes while others are on their way goes in one round trip behind them.

So a worker with hundreds of items settles several in one call when many end together. An item that ends alone is
settled at once. The thread that finds the line idle sends for itself; when it has its answers, the first that waits
sends next, for itself and those after it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from copy import copy

from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

from storage.database.functions import FunctionCall, Functions, Reply, Value, measured

MOST_TOGETHER = 16
"""Calls of one round trip: a millisecond or two of the server's time, and a share that leaves others theirs."""


class SharedCalls:
    """As `Functions.call`, from many threads. Each call gets its answer or its error.

    If the server does not answer the calls under way, all waiting calls fail at once. So no call waits for more than
    one socket time-out.
    """

    def __init__(self, functions: Functions) -> None:
        self._functions = functions
        self._lock = threading.Lock()
        self._waiting: deque[_Waiting] = deque()
        self._is_under_way = False

    @property
    def num_waiting(self) -> int:
        """Calls behind those that are on their way."""
        return len(self._waiting)

    def call(self, function: str, /, **arguments: Value | None) -> Reply:
        """Raises what redis-py raises; a call that ends so may have taken effect."""
        with measured(function):
            mine = _Waiting(self._functions.prepared(function, arguments))
            if not self._finds_idle(mine):
                mine.turn.wait()
            if mine.answer is None:
                self._send()
            return mine.reply()

    def _finds_idle(self, mine: _Waiting) -> bool:
        with self._lock:
            self._waiting.append(mine)
            is_idle = not self._is_under_way
            self._is_under_way = True
        return is_idle

    def _send(self) -> None:
        together = self._taken(MOST_TOGETHER)
        answers: Sequence[str | RedisError] = ()
        try:
            answers = self._functions.call_prepared([each.call for each in together])
        except RedisError as error:
            together += self._taken(len(self._waiting))
            answers = [error] * len(together)
        finally:
            # If something else ends this thread, the others get an error: their calls may be lost.
            lost = [RedisConnectionError("broken off")] * (len(together) - len(answers))
            for each, answer in zip(together, [*answers, *lost], strict=True):
                each.tell(answer)
            self._hand_on()

    def _taken(self, most: int) -> list[_Waiting]:
        with self._lock:
            return [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]

    def _hand_on(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting[0].turn.set()
            else:
                self._is_under_way = False


class _Waiting:
    """turn: set when it is answered, or, without an answer, has to send."""

    __slots__ = ("answer", "call", "turn")

    def __init__(self, call: FunctionCall) -> None:
        self.call = call
        self.turn = threading.Event()
        self.answer: str | RedisError | None = None

    def tell(self, answer: str | RedisError) -> None:
        self.answer = answer
        self.turn.set()

    def reply(self) -> Reply:
        if isinstance(self.answer, str):
            return Reply.read(self.answer)
        if self.answer is None:
            raise RuntimeError("a call continued before it had an answer")
        # Several threads may have the one error.
        raise copy(self.answer) from self.answer
