"""Rhapsode's Python client: submit texts, follow their jobs, fetch the speech.

The names are loaded on first use, so that importing the package (as the command line does) costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rhapsode.client.aio.client import AsyncRhapsode
    from rhapsode.client.aio.speaking import AsyncSpeechStream
    from rhapsode.client.batch_following import BatchResult
    from rhapsode.client.live.chunks import AudioChunk
    from rhapsode.client.request_options import JobOptions, StreamOptions
    from rhapsode.client.resources import Job, JobEvent
    from rhapsode.client.sync.client import Rhapsode
    from rhapsode.client.sync.speaking import SpeechStream
    from rhapsode.contract.batches import Batch
    from rhapsode.contract.jobs.answer import Artifact
    from rhapsode.contract.jobs.states import JobState
    from rhapsode.contract.models import Model
    from rhapsode.contract.voices.caches import VoiceCache
    from rhapsode.contract.voices.voices import Voice
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
    "AsyncSpeechStream",
    "AudioChunk",
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
    "SpeechStream",
    "StreamOptions",
    "Unauthorized",
    "Voice",
    "VoiceCache",
    "WaitTimedOut",
]

_HOMES = {
    "Rhapsode": "rhapsode.client.sync.client",
    "AsyncRhapsode": "rhapsode.client.aio.client",
    "AsyncSpeechStream": "rhapsode.client.aio.speaking",
    "SpeechStream": "rhapsode.client.sync.speaking",
    "AudioChunk": "rhapsode.client.live.chunks",
    "StreamOptions": "rhapsode.client.request_options",
    "Artifact": "rhapsode.contract.jobs.answer",
    "Batch": "rhapsode.contract.batches",
    "BatchResult": "rhapsode.client.batch_following",
    "Job": "rhapsode.client.resources",
    "JobEvent": "rhapsode.client.resources",
    "JobState": "rhapsode.contract.jobs.states",
    "Model": "rhapsode.contract.models",
    "JobOptions": "rhapsode.client.request_options",
    "Voice": "rhapsode.contract.voices.voices",
    "VoiceCache": "rhapsode.contract.voices.caches",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'rhapsode' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES.get(name, "rhapsode.errors")), name)


def __dir__() -> list[str]:
    return [*__all__]
