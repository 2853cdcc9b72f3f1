"""Rhapsode's Python client: submit texts, follow their jobs, fetch the speech.

The names are loaded on first use, so that importing the package (as the command line does) costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rhapsode.async_client import AsyncRhapsode
    from rhapsode.batch_calls import Batch, BatchResult
    from rhapsode.client import Rhapsode
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
    from rhapsode.resources import Artifact, Job, JobEvent, JobState, Model
    from rhapsode.submission import JobOptions
    from rhapsode.voice_resources import Voice, VoiceCache

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
    "Rhapsode": "rhapsode.client",
    "AsyncRhapsode": "rhapsode.async_client",
    "Artifact": "rhapsode.resources",
    "Batch": "rhapsode.batch_calls",
    "BatchResult": "rhapsode.batch_calls",
    "Job": "rhapsode.resources",
    "JobEvent": "rhapsode.resources",
    "JobState": "rhapsode.resources",
    "Model": "rhapsode.resources",
    "JobOptions": "rhapsode.submission",
    "Voice": "rhapsode.voice_resources",
    "VoiceCache": "rhapsode.voice_resources",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'rhapsode' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES.get(name, "rhapsode.errors")), name)


def __dir__() -> list[str]:
    return [*__all__]
