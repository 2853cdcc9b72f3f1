"""What the API answers with, as frozen values. Fields a newer server adds are ignored."""

from __future__ import annotations

import enum
from datetime import datetime

from pydantic import BaseModel, ConfigDict

from rhapsode.errors import JobNotSucceeded


class Resource(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class JobState(enum.StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    PAUSED = "paused"
    CANCELLING = "cancelling"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"

    @property
    def is_terminal(self) -> bool:
        return self in _TERMINAL


_TERMINAL = frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED, JobState.EXPIRED})


class SegmentProgress(Resource):
    """`total` is 0 until the text has been planned."""

    total: int = 0
    done: int = 0
    running: int = 0
    failed: int = 0


class Progress(Resource):
    """`fraction` is of the expected work, 0 to 1; `eta_s` None while nothing is known."""

    fraction: float = 0.0
    eta_s: float | None = None
    segments: SegmentProgress = SegmentProgress()
    chars_done: int = 0
    audio_s_done: float = 0.0


class QueuePlace(Resource):
    """Audio seconds of work that will be done before this job's next segment."""

    ahead_audio_s: float | None = None


class Artifact(Resource):
    """One finished output. `url` may be relative to the server; it works without a key until `url_expires_at`."""

    name: str
    type: str
    bytes: int
    sha256: str
    duration_s: float | None = None
    url: str | None = None
    url_expires_at: datetime | None = None


class JobFailure(Resource):
    """Why a job failed."""

    code: str
    detail: str = ""
    segment: int | None = None


class EngineFacts(Resource):
    model: str | None = None
    model_revision: str | None = None


class Usage(Resource):
    input_chars: int | None = None
    audio_s: float | None = None


class Job(Resource):
    """A narration from its acceptance to its artifacts."""

    id: str
    state: JobState
    created_at: datetime
    phase: str | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    expires_at: datetime | None = None
    queue: QueuePlace | None = None
    progress: Progress = Progress()
    artifacts: tuple[Artifact, ...] = ()
    usage: Usage | None = None
    engine: EngineFacts | None = None
    error: JobFailure | None = None
    metadata: dict[str, str] = {}

    def artifact(self, name: str) -> Artifact:
        """Raises `KeyError` with the names there are."""
        for artifact in self.artifacts:
            if artifact.name == name:
                return artifact
        names = ", ".join(artifact.name for artifact in self.artifacts) or "none yet"
        raise KeyError(f"job {self.id} has no artifact {name!r}; it has: {names}")

    def raise_unless_succeeded(self) -> Job:
        """The job itself if it succeeded; else raises `JobNotSucceeded`, also while it still works."""
        if self.state is not JobState.SUCCEEDED:
            raise JobNotSucceeded(self)
        return self


class JobPage(Resource):
    data: tuple[Job, ...]
    has_more: bool = False
    next_cursor: str | None = None


class Model(Resource):
    """A checkpoint that workers have loaded. `notice` is a sentence its users should see, or empty."""

    name: str
    revision: str = ""
    task: str = ""
    speakers: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    sample_rate_hz: int | None = None
    notice: str = ""


class ModelList(Resource):
    data: tuple[Model, ...]


class JobEvent(Resource):
    """One entry of a job's event log; `id` is what `events(after=...)` continues from."""

    id: str
    type: str
    at: datetime | None = None
    data: dict[str, object] = {}

    @property
    def is_last(self) -> bool:
        return self.type in _LAST_EVENTS


_LAST_EVENTS = frozenset(f"job.{state}" for state in _TERMINAL)
