"""How a model speaks with a voice of the caller's, and what a job does without its cache: the public contract."""

from __future__ import annotations

import enum


class CacheMode(enum.StrEnum):
    X_VECTOR = "x_vector"
    """The speaker's embedding alone."""

    IN_CONTEXT = "in_context"
    """The embedding, the recording's codec frames and what the recording says."""


class IfCacheMissing(enum.StrEnum):
    """What a job does that names a voice without a ready cache."""

    COMPUTE = "compute"
    """The first segment builds it; others meanwhile use the recording itself."""

    WAIT = "wait"
    """The job starts once the cache is ready, and fails if that fails."""

    FAIL = "fail"
    """The job is refused at submission."""
