"""Rhapsode's Python client: submit texts, follow their jobs, fetch the speech.

The names are loaded on first use, so that importing the package (as the command line does) costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rhapsode.client.async_client import AsyncRhapsode
    from rhapsode.client.batches.calls import Batch, BatchResult
    from rhapsode.client.client import Rhapsode
    from rhapsode.client.jobs.submission import JobOptions
    from rhapsode.client.resources import Artifact, Job, JobEvent, JobState, Model
    from rhapsode.client.voices.resources import Voice, VoiceCache
    from rhapsode.errors import (
        ApiError,
        BadAnswer,
        BatchWaitTimedOut,
        Conflict,
        DownloadCorrupt,
        Gone,
        InvalidRequest,
        JobNotSucceeded,
        NotFound,
        RateLimited,
        RhapsodeError,
        SecretNotShown,
        ServerError,
        ServerUnreachable,
        Unauthorized,
        WaitTimedOut,
    )

__all__ = [
    "ApiError",
    "Artifact",
    "AsyncRhapsode",
    "BadAnswer",
    "Batch",
    "BatchResult",
    "BatchWaitTimedOut",
    "Conflict",
    "DownloadCorrupt",
    "Gone",
    "InvalidRequest",
    "Job",
    "JobEvent",
    "JobNotSucceeded",
    "JobOptions",
    "JobState",
    "Model",
    "NotFound",
    "RateLimited",
    "Rhapsode",
    "RhapsodeError",
    "SecretNotShown",
    "ServerError",
    "ServerUnreachable",
    "Unauthorized",
    "Voice",
    "VoiceCache",
    "WaitTimedOut",
]

_HOMES = {
    "Rhapsode": "rhapsode.client.client",
    "AsyncRhapsode": "rhapsode.client.async_client",
    "Artifact": "rhapsode.client.resources",
    "Batch": "rhapsode.client.batches.calls",
    "BatchResult": "rhapsode.client.batches.calls",
    "Job": "rhapsode.client.resources",
    "JobEvent": "rhapsode.client.resources",
    "JobState": "rhapsode.client.resources",
    "Model": "rhapsode.client.resources",
    "JobOptions": "rhapsode.client.jobs.submission",
    "Voice": "rhapsode.client.voices.resources",
    "VoiceCache": "rhapsode.client.voices.resources",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'rhapsode' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES.get(name, "rhapsode.errors")), name)


def __dir__() -> list[str]:
    return [*__all__]
