"""The lines of a batch's shards: jobs to be made, as submissions. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from storage.jobs.submissions import Submission


@dataclass(frozen=True, slots=True)
class BatchLine:
    """number: of the line in the file, from 1. input: what is to be spoken, in the form that the spec says.

    may_be_whole: whether the model's workers took whole jobs when the batch came. Its plan is made where its job is.
    """

    number: int
    custom_id: str
    input: str
    submission: Submission
    may_be_whole: bool = False


class ShardFormatError(ValueError):
    """The bytes are not a shard this version can read."""


_LINE = TypeAdapter(BatchLine)


def encode_shard(lines: Iterable[BatchLine]) -> bytes:
    return b"".join(_LINE.dump_json(line) + b"\n" for line in lines)


def decode_shard(data: bytes) -> tuple[BatchLine, ...]:
    """Raises `ShardFormatError` for anything `encode_shard` did not write."""
    try:
        return tuple(_LINE.validate_json(line, extra="ignore") for line in data.splitlines())
    except ValidationError as error:
        raise ShardFormatError(f"not a shard of a batch: {error}") from error
