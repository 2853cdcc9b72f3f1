"""Calls of the functions in the state database: one JSON argument, one JSON answer, one round trip.

A server that does not know the library of this release (it is new, was emptied, or is another one since) is given it
and asked again. The one declared key is the root of all others, which routes a call should the state live in a cluster.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Self, TypeAlias, cast

import redis
import redis.asyncio
from redis.client import Pipeline
from redis.exceptions import RedisError, ResponseError

from storage.database.keys import RedisKeys
from storage.database.library import library
from storage.database.redis_errors import StateUnavailable
from storage.errors import AdmissionRefused, refusal_of
from storage.runtime.observability.metrics import redis_call

Value: TypeAlias = "str | int | float | bool | Sequence[Value] | Mapping[str, Value]"
"""Of an argument. What names something is a string, also a fence: a server's numbers have 53 bits."""

Arguments: TypeAlias = "Mapping[str, Value | None]"
"""By name; what is None is left out."""

Clock: TypeAlias = Callable[[], int]
"""Unix ms."""

REPLICATION_TIMEOUT_MS = 2_000

_measures = cache(redis_call)


@dataclass(slots=True)
class Reply:
    """The answer of a function: its status, and what it says besides, by name."""

    _values: dict[str, object]

    @classmethod
    def read(cls, text: str) -> Self:
        return cls(cast("dict[str, object]", json.loads(text)))

    @property
    def status(self) -> str:
        return self.text("status")

    def text(self, name: str) -> str:
        return str(self._values[name])

    def number(self, name: str) -> int:
        return int(cast("str | float", self._values[name]))

    def real(self, name: str) -> float:
        return float(cast("str | float", self._values[name]))

    def flag(self, name: str) -> bool:
        return self._values[name] is True

    def hash(self, name: str) -> dict[str, str]:
        """A hash of Redis; an empty one if there was none."""
        return cast("dict[str, str]", self._values[name])

    def counts(self, name: str) -> dict[str, int]:
        return cast("dict[str, int]", self._values[name])

    def refusal(self) -> AdmissionRefused:
        """What a function that refused answers with."""
        wait_s = self.text("wait_s")
        return refusal_of(
            self.text("limit"), self.number("held"), self.number("most"), float(wait_s) if wait_s else None
        )

    def texts(self, name: str) -> list[str]:
        return cast("list[str]", self._list(name))

    def rows(self, name: str) -> list[dict[str, object]]:
        return cast("list[dict[str, object]]", self._list(name))

    def parts(self, name: str) -> list[Reply]:
        """Those of an answer that has several of a kind."""
        return [Reply(row) for row in self.rows(name)]

    def table(self, name: str) -> dict[str, object]:
        return cast("dict[str, object]", self._values[name])

    def _list(self, name: str) -> object:
        # Lua has one kind of table, and its empty one is an object.
        return self._values[name] or []


FunctionCall: TypeAlias = tuple[str, int, str, str]
"""What FCALL takes: the function's name in the library of this release, one key, the root of all, and JSON."""


class Functions:
    """The functions under one key prefix. Safe to share between threads, as the client is.

    clock: what the time is, in place of the server's own clock; tests put a settable one here. Everything raises what
    redis-py raises.
    """

    def __init__(self, client: redis.Redis, key_prefix: str, clock: Clock | None = None) -> None:
        self._client = client
        self._root = RedisKeys(key_prefix).root
        self._clock = clock

    def call(self, function: str, /, **arguments: Value | None) -> Reply:
        """Raises what redis-py raises."""
        with measured(function):
            (answer,) = self.call_prepared([self.prepared(function, arguments)])
            if isinstance(answer, RedisError):
                raise answer
        return Reply.read(answer)

    def prepared(self, function: str, arguments: Arguments) -> FunctionCall:
        """Raises what is wrong with the arguments, before anything is sent."""
        return library().function(function), 1, self._root, _encoded(arguments, self._clock)

    def call_prepared(self, calls: Sequence[FunctionCall]) -> list[str | RedisError]:
        """The answer of each, as JSON, or its own error, after one round trip; others may come in between them.

        Raises what redis-py raises if the server does not answer: then each may have taken effect.
        """
        answers = self._sent(calls)
        unknown = [
            place for place, answer in enumerate(answers) if isinstance(answer, RedisError) and _is_unknown(answer)
        ]
        if unknown:
            self._client.function_load(library().text, replace=True)
            again = self._sent([calls[place] for place in unknown])
            for place, answer in zip(unknown, again, strict=True):
                answers[place] = answer
        return answers

    def call_each(self, calls: Sequence[tuple[str, Arguments]], replicas: int = 0) -> list[Reply]:
        """Several calls in one round trip; others may come in between them. Each is measured as long as all take.

        replicas: that have what was written when this returns. With fewer it raises `StateUnavailable`; the calls took
        effect.
        """
        if not calls:
            return []
        started = time.perf_counter()
        pipeline = self._client.pipeline(transaction=False)
        for function, arguments in calls:
            pipeline.fcall(*self.prepared(function, arguments))
        try:
            replies = [Reply.read(cast("str", text)) for text in self._executed(pipeline, replicas)]
        except ResponseError as error:
            if not _is_unknown(error):
                _measures(calls[0][0])[1].inc()
                raise
            # Whichever it was: each may be repeated.
            self._client.function_load(library().text, replace=True)
            return self.call_each(calls, replicas)
        except RedisError:
            _measures(calls[0][0])[1].inc()
            raise
        for function in {function for function, _ in calls}:
            _measures(function)[0].observe(time.perf_counter() - started)
        return replies

    def _executed(self, pipeline: Pipeline, replicas: int) -> list[object]:
        if not replicas:
            return cast("list[object]", pipeline.execute())
        # A connection waits for what was written over it: a call that found its work done before wrote nothing.
        pipeline.set(f"{self._root}:awaited", "1")
        pipeline.wait(replicas, REPLICATION_TIMEOUT_MS)
        *answers, _, reached = cast("list[object]", pipeline.execute())
        if cast("int", reached) < replicas:
            raise StateUnavailable(f"{reached} of {replicas} replicas have it")
        return answers

    def _sent(self, calls: Sequence[FunctionCall]) -> list[str | RedisError]:
        if len(calls) > 1:
            pipeline = self._client.pipeline(transaction=False)
            for call in calls:
                pipeline.fcall(*call)
            return cast("list[str | RedisError]", pipeline.execute(raise_on_error=False))
        try:
            return [cast("str", self._client.fcall(*call)) for call in calls]
        except ResponseError as error:
            return [error]


class FunctionCalls:
    """What calls the functions under one key prefix. Safe to share between threads, as the client is."""

    def __init__(self, redis: redis.Redis, key_prefix: str = "rhapsode", clock: Clock | None = None) -> None:
        self._functions = Functions(redis, key_prefix, clock)


class AsyncFunctions:
    """As `Functions`, for the event loop."""

    def __init__(self, client: redis.asyncio.Redis, key_prefix: str, clock: Clock | None = None) -> None:
        self._client = client
        self._root = RedisKeys(key_prefix).root
        self._clock = clock

    async def call(self, function: str, /, **arguments: Value | None) -> Reply:
        name, encoded = library().function(function), _encoded(arguments, self._clock)
        try:
            text = await self._client.fcall(name, 1, self._root, encoded)
        except ResponseError as error:
            if not _is_unknown(error):
                raise
            await self._client.function_load(library().text, replace=True)
            text = await self._client.fcall(name, 1, self._root, encoded)
        return Reply.read(cast("str", text))


def _encoded(arguments: Arguments, clock: Clock | None) -> str:
    given = {name: value for name, value in arguments.items() if value is not None}
    if clock is not None:
        given["now_ms"] = clock()
    # As they are: Lua takes a lone surrogate for an error, and so does the encoding to UTF-8, earlier.
    return json.dumps(given, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _is_unknown(error: RedisError) -> bool:
    """Whether the server has no such function; in a pipeline the words of the call stand in front."""
    return str(error).endswith("Function not found")


@contextmanager
def measured(function: str) -> Generator[None]:
    """A call of the function, as long as its caller waits for it."""
    duration, errors = _measures(function)
    started = time.perf_counter()
    try:
        yield
    except RedisError:
        errors.inc()
        raise
    finally:
        duration.observe(time.perf_counter() - started)
