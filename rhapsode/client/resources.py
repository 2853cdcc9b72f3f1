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
    reused: int = 0
    flagged: int = 0


class Progress(Resource):
    """`fraction` is of the expected work, 0 to 1.

    eta_s: None while nothing is known. eta_basis: the pace it is reckoned by, `fleet_rate` or `job_rate`.
    """

    fraction: float = 0.0
    eta_s: float | None = None
    eta_basis: str | None = None
    segments: SegmentProgress = SegmentProgress()
    chars_done: int = 0
    audio_s_done: float = 0.0


class QueuePosition(Resource):
    """Where a job stands among the others of its model.

    position: jobs that are served before it where it waits, None while it is paused. pace: seconds of audio that all
    workers of its model speak in a second, None while nothing was measured. has_worker: whether there is one at all.
    """

    position: int | None = None
    pace: float | None = None
    ahead_audio_s: float | None = None
    has_worker: bool | None = None


class Artifact(Resource):
    """One finished output. `url` may be relative to the server; it works without a key until `url_expires_at`.

    key: where it lies in the bucket of the service, if the job has a destination there.
    """

    name: str
    type: str
    bytes: int
    sha256: str
    duration_s: float | None = None
    key: str | None = None
    url: str | None = None
    url_expires_at: datetime | None = None


class ArtifactList(Resource):
    data: tuple[Artifact, ...]


class JobFailure(Resource):
    """Why a job failed. segment: index of the one at fault. retryable: whether a retry may help, nothing changed."""

    code: str
    title: str = ""
    detail: str = ""
    segment: int | None = None
    retryable: bool = False


class JobWarning(Resource):
    """What its owner should know although the job goes on. segment: None for the whole job."""

    code: str
    detail: str = ""
    segment: int | None = None


class Usage(Resource):
    """`engine_s`: seconds that the segments spent in the engine, side by side. `retries`: of segments."""

    input_chars: int = 0
    audio_s: float = 0.0
    engine_s: float = 0.0
    retries: int = 0


class ResolvedVoice(Resource):
    """A voice that was uploaded, as it was when the job was accepted; without an id one that the job brought along."""

    id: str | None = None
    revision: int
    mode: str
    ref_text: str = ""


class ResolvedInput(Resource):
    """first_words: how the text begins, on one line; empty until it is planned."""

    type: str = "text"
    first_words: str = ""


class ResolvedRequest(Resource):
    """What was asked for, with the server's defaults filled in. own_voice: None for a voice of the model's.

    not_before: nothing is done before it. reproducibility: `strict` for the same speech in any company.
    reuse: whether segments of earlier jobs are copied.
    """

    model: str
    voice: str
    own_voice: ResolvedVoice | None = None
    language: str
    seed: int
    input: ResolvedInput = ResolvedInput()
    not_before: datetime | None = None
    reproducibility: str = "best_effort"
    reuse: bool = True


class ResolvedVoiceCaches(Resource):
    """What a job of kind `voice_cache` does: makes so many voices ready for a model."""

    model: str
    voices: int
    force: bool


class SpokenWith(Resource):
    """What spoke a job: None until it has succeeded, and where its segments differ, which its manifest tells apart.

    model_revision: digest of the checkpoint. voice_cache: `content` of the cache of a voice of yours. config_sha256: of
    how the engine was set up.
    """

    model: str
    model_revision: str | None = None
    voice_cache: str | None = None
    config_sha256: str | None = None


class Job(Resource):
    """A narration from its acceptance to its artifacts, or (kind `voice_cache`) voices made ready for a model."""

    id: str
    kind: str = "synthesis"
    state: JobState
    created_at: datetime
    phase: str | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    expires_at: datetime | None = None
    queue: QueuePosition | None = None
    progress: Progress = Progress()
    request: ResolvedRequest | ResolvedVoiceCaches | None = None
    artifacts: tuple[Artifact, ...] = ()
    usage: Usage | None = None
    engine: SpokenWith | None = None
    error: JobFailure | None = None
    warnings: tuple[JobWarning, ...] = ()
    metadata: dict[str, str] = {}

    @property
    def title(self) -> str:
        """What its owner called it; empty for nothing."""
        return self.metadata.get("title", "")

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
    """A checkpoint that workers have loaded. `notice` is a sentence its users should see, or empty.

    available: false once its workers were not heard of for minutes while another model's were.
    reproducibility: what jobs may ask for. max_text_chars: no segment is longer, whatever a job asks for.
    text_front_end: "words" for one whose numbers are written out unless a job says otherwise.
    """

    name: str
    revision: str = ""
    task: str = ""
    speakers: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    sample_rate_hz: int | None = None
    max_text_chars: int | None = None
    text_front_end: str = "raw"
    accepts_instructions: bool = False
    reproducibility: tuple[str, ...] = ()
    available: bool = True
    notice: str = ""


class ModelList(Resource):
    data: tuple[Model, ...]


class EventProgress(Resource):
    """The job's counters at the moment of the event."""

    fraction: float = 0.0
    segments_total: int = 0
    segments_done: int = 0
    chars_done: int = 0
    audio_s_done: float = 0.0


class EventJob(Resource):
    id: str
    state: JobState
    phase: str | None = None
    progress: EventProgress = EventProgress()


class JobEvent(Resource):
    """One entry of a job's event log.

    id: what `events(after=...)` continues behind. detail: what only this type of event says.
    """

    id: str
    type: str
    at: datetime
    job: EventJob
    detail: dict[str, str | int | float | None] = {}

    @property
    def is_last(self) -> bool:
        return self.type in _LAST_EVENTS


_LAST_EVENTS = frozenset(f"job.{state}" for state in _TERMINAL)
