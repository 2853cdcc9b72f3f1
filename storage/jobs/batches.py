"""Batches: many jobs that came in one file. Pure but for digests.

A batch is a record of the job machine whose items are shards of lines; the item of a shard turns its lines into jobs.
Their ids follow from batch and line, so that a shard that is worked on twice makes each of them once.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field

from pydantic import TypeAdapter, ValidationError

from storage.ids import BATCH_PREFIX, JOB_PREFIX

SHARD_LINES = 50

_CROCKFORD = str.maketrans("abcdefghijklmnopqrstuvwxyz234567", "0123456789abcdefghjkmnpqrstvwxyz")


@dataclass(frozen=True, slots=True)
class BatchSpec:
    """num_lines: jobs that it makes. num_shards: objects with `SHARD_LINES` of them each, the last one with fewer."""

    num_lines: int
    num_shards: int


@dataclass(frozen=True, slots=True)
class BatchLine:
    """One job to be made: what a submission holds, with its spec as the record keeps it.

    number: of the line in the file, from 1. input: what is to be spoken, in the form that `spec` says.
    """

    number: int
    custom_id: str
    spec: str
    input: str
    input_chars: int
    estimated_audio_ms: int
    priority: str
    retention_s: int
    deadline_ms: int | None = None
    not_before_ms: int | None = None
    metadata: dict[str, str] = field(default_factory=dict[str, str])


class ShardFormatError(ValueError):
    """The bytes are not a shard this version can read."""


_LINE = TypeAdapter(BatchLine)


def encode_shard(lines: Iterable[BatchLine]) -> bytes:
    return b"".join(_LINE.dump_json(line) + b"\n" for line in lines)


def decode_shard(data: bytes) -> tuple[BatchLine, ...]:
    """Raises `ShardFormatError` for anything `encode_shard` did not write."""
    try:
        return tuple(_LINE.validate_json(line) for line in data.splitlines())
    except ValidationError as error:
        raise ShardFormatError(f"not a shard of a batch: {error}") from error


def child_id(batch: str, number: int) -> str:
    """`job_`, the batch's own time, and 80 bits of sha256(batch, line): sorts beside its batch."""
    time_part = batch.removeprefix(BATCH_PREFIX)[:10]
    digest = hashlib.sha256(f"{batch}|{number}".encode()).digest()[:10]
    return f"{JOB_PREFIX}{time_part}{base64.b32encode(digest).decode().lower().translate(_CROCKFORD)}"


def num_shards(num_lines: int) -> int:
    return -(-num_lines // SHARD_LINES)
