"""Batches: many jobs that came in one file. Pure but for digests.

A batch is a record of the job machine whose items are shards of lines; the item of a shard turns its lines into jobs.
Their ids follow from batch and line, so that a shard that is worked on twice makes each of them once.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass

from storage.ids import BATCH_PREFIX, JOB_PREFIX, ULID_CHARS

SHARD_LINES = 50

_CROCKFORD = str.maketrans("abcdefghijklmnopqrstuvwxyz234567", "0123456789abcdefghjkmnpqrstvwxyz")


@dataclass(frozen=True, slots=True)
class BatchSpec:
    """num_lines: jobs that it makes. num_shards: objects with `SHARD_LINES` of them each, the last one with fewer."""

    num_lines: int
    num_shards: int


def child_id(batch: str, number: int) -> str:
    """`job_`, the batch's own time, 80 bits of sha256(batch, line), an old batch's suffix: sorts beside its batch."""
    ulid = batch.removeprefix(BATCH_PREFIX)
    time_part, suffix = ulid[:10], ulid[ULID_CHARS:]
    digest = hashlib.sha256(f"{batch}|{number}".encode()).digest()[:10]
    drawn = base64.b32encode(digest).decode().lower().translate(_CROCKFORD)
    return f"{JOB_PREFIX}{time_part}{drawn}{suffix}"


def num_shards(num_lines: int) -> int:
    return -(-num_lines // SHARD_LINES)
