"""What a measurement of a server found, as it stands in a file."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field, JsonValue

from rhapsode.bench.environment import Environment
from rhapsode.bench.report_file import ReportFile
from rhapsode.bench.server.devices import DeviceUse
from rhapsode.bench.server.load.messages import ClosedLoad, Load, OpenLoad, Outcome, RecordedLoad
from rhapsode.bench.server.orders import Language, Level, Task
from rhapsode.bench.server.quality import Quality
from rhapsode.bench.server.summary import Summary, is_carried

SCHEMA = "rhapsode.bench.server/1"


class Asked(BaseModel):
    """Of which server what was asked; never the key. frame_s: of a codec frame, where that is known of its kind.

    listener_buffer_s: with which holes are counted. reference_sha256: of the recording whose voice was asked for.
    """

    target: str
    url: str
    model: str | None
    voice: str | None
    instructions: str | None
    task: Task | None = None
    reference_sha256: str | None = None
    reference_text: str | None = None
    parameters: dict[str, JsonValue]
    seed: int
    levels: tuple[Level, ...]
    languages: tuple[Language, ...]
    timeout_s: float
    clients: int
    frame_s: float | None
    listener_buffer_s: float = 0.0


class StageReport(BaseModel):
    """One load. begins_s, ends_s: of what is counted, from the stage's beginning; it ends early where the run did.

    stall_s: the longest that a client's own loop came too late. failed: why the stage broke off, "" if it did not.
    devices: in what is counted; None where the server is elsewhere, or NVML does not answer.
    """

    load: Annotated[Load, Field(discriminator="kind")]
    begins_s: float
    ends_s: float
    stall_s: float
    failed: str = ""
    summary: Summary
    devices: DeviceUse | None = None
    requests: list[Outcome]

    @property
    def is_carried(self) -> bool:
        return is_carried(self.load, self.summary)


class Skipped(BaseModel):
    stage: str
    why: str


class ServerReport(ReportFile):
    """ended: whether all that was asked for was tried. wall_s: of all of it.

    quality: None where nothing was judged. baseline: what another server gave meanwhile, in turns with this one.
    """

    schema_: Literal["rhapsode.bench.server/1"] = Field(default=SCHEMA, alias="schema")
    environment: Environment
    asked: Asked
    price_per_hour: float | None = None
    stages: list[StageReport] = Field(default_factory=list[StageReport])
    quality: Quality | None = None
    baseline: ServerReport | None = None
    left_out: list[Skipped] = Field(default_factory=list[Skipped])
    ended: Literal["complete", "incomplete", "interrupted"] = "incomplete"
    wall_s: float = 0.0

    @property
    def by_load(self) -> list[StageReport]:
        """Closed loops before rates, from few to many; a ramp goes up and down."""
        return sorted(self.stages, key=lambda stage: _place(stage.load))

    @property
    def most_audio_s_per_s(self) -> float:
        return max((stage.summary.audio_s_per_s for stage in self.stages), default=0.0)

    @property
    def tried_streams(self) -> dict[int, bool]:
        """Whether each number of streams was carried, of those that were tried."""
        return {stage.load.streams: stage.is_carried for stage in self.stages if isinstance(stage.load, ClosedLoad)}

    @property
    def carried(self) -> int:
        """The most streams that were spoken as fast as they are heard; 0 if none were."""
        return max((streams for streams, is_carried in self.tried_streams.items() if is_carried), default=0)


def _place(load: Load) -> tuple[int, float]:
    match load:
        case ClosedLoad():
            return 0, load.streams
        case OpenLoad():
            return 1, load.rate
        case RecordedLoad():
            return 2, 0.0
