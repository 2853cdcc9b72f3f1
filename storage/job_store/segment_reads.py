"""Where each segment of a job stands: read from Redis in one go, for those who show or join segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import redis

from rhapsode.contract.segments import SegmentState
from storage.database.keys import RedisKeys
from storage.ids import JobId
from storage.segments.edits import FIRST_TAKE, UNEDITED, SegmentEdit, decode_edit
from storage.segments.results import SegmentResult, decode_segment_result
from storage.segments.tried import Rejection, decode_rejection


@dataclass(frozen=True, slots=True)
class StoredTake:
    """One finished version of a segment, with the edit it was made from. At most one is in place."""

    number: int
    result: SegmentResult
    edit: SegmentEdit
    is_selected: bool


@dataclass(frozen=True, slots=True)
class SegmentStates:
    """A job's segments at one moment. What is in none of the mappings is pending, unedited and in its first take.

    numbers: of the take in place or being made, and the highest given out. rejections: what was tried for those that
    failed.
    """

    results: Mapping[int, SegmentResult]
    failed: frozenset[int]
    running: frozenset[int]
    edits: Mapping[int, SegmentEdit]
    numbers: Mapping[int, tuple[int, int]]
    rejections: Mapping[int, Rejection] = field(default_factory=dict[int, Rejection])

    def state(self, index: int) -> SegmentState:
        if index in self.results:
            return SegmentState.DONE
        if index in self.failed:
            return SegmentState.FAILED
        return SegmentState.RUNNING if index in self.running else SegmentState.PENDING

    def edit(self, index: int) -> SegmentEdit:
        return self.edits.get(index, UNEDITED)

    def take(self, index: int) -> int:
        return self.numbers.get(index, (FIRST_TAKE, FIRST_TAKE))[0]

    def num_takes(self, index: int) -> int:
        """Those given out; one of them may not be finished."""
        return self.numbers.get(index, (FIRST_TAKE, FIRST_TAKE))[1]


class SegmentReader:
    """Safe to share between threads, as the client is. Whose the job is, the caller has to know."""

    def __init__(self, redis: redis.Redis, key_prefix: str = "rhapsode") -> None:
        self._redis = redis
        self._keys = RedisKeys(key_prefix)

    def states(self, job_id: JobId) -> SegmentStates:
        """All at one moment. Raises `StoreUnavailable`."""
        pipeline = self._redis.pipeline(transaction=True)
        for family in ("results", "live", "edits", "takes", "tries"):
            pipeline.hgetall(self._keys.of(family, job_id))
        results, live, edits, takes, tries = cast("list[dict[str, str]]", pipeline.execute())
        failed = frozenset(int(item) for item, _ in _segments(results, "X"))
        return SegmentStates(
            results={int(item): decode_segment_result(item, line) for item, line in _segments(results, "D")},
            failed=failed,
            running=frozenset(int(item) for item, _ in _segments(live, "L", "A")),
            edits={int(item): decode_edit(edit) for item, edit in _segments(edits)},
            numbers={int(item): _numbers(value) for item, value in _segments(takes)},
            rejections={
                index: decode_rejection(tries[name]) for index in failed if (name := f"rejected:{index}") in tries
            },
        )

    def results(self, job_id: JobId, indices: Sequence[int]) -> dict[int, SegmentResult]:
        """Those of these segments that are done. Raises `StoreUnavailable`."""
        lines = self._redis.hmget(self._keys.of("results", job_id), [str(index) for index in indices])
        found = zip(indices, cast("list[str | None]", lines), strict=True)
        return {index: decode_segment_result(str(index), line) for index, line in found if line and line[0] == "D"}

    def sample(self, job_id: JobId, count: int) -> list[SegmentResult]:
        """At most `count` different segments that are done. Raises `StoreUnavailable`."""
        flat = cast("list[str]", self._redis.hrandfield(self._keys.of("results", job_id), count, withvalues=True))
        lines = dict(zip(flat[::2], flat[1::2], strict=True))
        return [decode_segment_result(item, line) for item, line in _segments(lines, "D")]

    def takes(self, job_id: JobId, index: int) -> list[StoredTake]:
        """The finished ones in the order of their numbers. Raises `StoreUnavailable`."""
        item = str(index)
        pipeline = self._redis.pipeline(transaction=True)
        pipeline.hget(self._keys.of("results", job_id), item)
        pipeline.hgetall(self._keys.of("takes", job_id))
        pipeline.hgetall(self._keys.of("edits", job_id))
        line, takes, edits = cast("tuple[str | None, dict[str, str], dict[str, str]]", pipeline.execute())
        found = [
            StoredTake(
                int(number), decode_segment_result(item, kept), decode_edit(edits.get(field, "")), is_selected=False
            )
            for field, kept in takes.items()
            for at, _, number in [field.partition(":")]
            if at == item and number
        ]
        if line and line.startswith("D"):
            current, _ = _numbers(takes.get(item, "1:1"))
            edit = decode_edit(edits.get(item, ""))
            found.append(StoredTake(current, decode_segment_result(item, line), edit, is_selected=True))
        return sorted(found, key=lambda take: take.number)


def _segments(fields: Mapping[str, str], *kinds: str) -> list[tuple[str, str]]:
    """The fields of segments, of the kinds their values begin with."""
    return [(item, value) for item, value in fields.items() if item.isdecimal() and value.startswith(kinds or "")]


def _numbers(value: str) -> tuple[int, int]:
    current, _, highest = value.partition(":")
    return int(current), int(highest)
