"""Segments that were spoken before: what makes two of them the same, and where the newest of them lies.

Only a hint is kept for each, which ends with its job's retention. Its reader checks what it finds.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass, fields
from typing import cast

import redis

from rhapsode.contract.jobs.options import Sampling
from rhapsode.contract.jobs.quality import Gate
from storage.database.keys import RedisKeys
from storage.ids import JobId, TenantId
from storage.segments.results import SegmentResult, decode_segment_result

CONTENT_FORMAT = 1
"""Raised when the same content has to sound otherwise (other margins, other checks): what was before is not found."""

_ID_BYTES = 16


@dataclass(frozen=True, slots=True)
class SegmentContent:
    """Everything a segment's sound depends on.

    tenant: what one has paid for must not be noticed by another. text: as it is spoken. voice: a built-in speaker by
    name, an uploaded voice by its content key. revision: digest of the checkpoint, speech tokenizer included.
    seed: the one the caller chose; None if any will do. occurrence: of the same text in its job, so that a refrain is
    not the same recording again. gate: what it has passed. configuration: of the engine, "" where any will do.
    inner_pause_s: what its sentences are kept apart by; None for what was spoken.
    """

    tenant: TenantId
    text: str
    voice: str
    model: str
    revision: str
    language: str
    instructions: str
    sampling: Sampling
    seed: int | None
    occurrence: int
    gate: Gate
    configuration: str = ""
    inner_pause_s: float | None = None

    @property
    def id(self) -> str:
        """128 bits of the content's sha256, in 22 characters."""
        # Not by `asdict`, which copies what it finds: it is made for every segment.
        parts = {each.name: getattr(self, each.name) for each in fields(self)}
        parts["sampling"] = self.sampling.model_dump()
        if not self.configuration:
            # As it was named before there was a choice, so that what was spoken then is still found.
            del parts["configuration"]
        if self.inner_pause_s is None:
            del parts["inner_pause_s"]
        named = json.dumps([CONTENT_FORMAT, parts], sort_keys=True)
        return base64.urlsafe_b64encode(hashlib.sha256(named.encode()).digest()[:_ID_BYTES]).decode().rstrip("=")


@dataclass(frozen=True, slots=True)
class ReusableSegment:
    """A segment of the same content in another job, which was done and not flagged a moment ago."""

    job: JobId
    result: SegmentResult


class ReuseIndex:
    """Reads the hints; `commit_segment` writes them. Safe to share between threads, as the client is."""

    def __init__(self, redis: redis.Redis, key_prefix: str = "rhapsode") -> None:
        self._redis = redis
        self._keys = RedisKeys(key_prefix)

    def find(self, tenant: TenantId, content_id: str) -> ReusableSegment | None:
        """None if no job has it, or its job has changed it or is gone. Raises `StoreUnavailable`."""
        hint = cast("str | None", self._redis.get(self._keys.of("reuse", tenant, content_id)))
        if hint is None:
            return None
        job, index, fence = hint.rsplit(":", 2)
        line = cast("str | None", self._redis.hget(self._keys.of("results", JobId(job)), index))
        if line is None or not line.startswith(f"D{fence}:"):
            return None
        result = decode_segment_result(index, line)
        return None if result.flags else ReusableSegment(JobId(job), result)
