"""What a measurement of a server found, as it stands in a file."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field, JsonValue

from rhapsode.bench.environment import Environment
from rhapsode.bench.report_file import ReportFile
from rhapsode.bench.server.load.messages import ClosedLoad, OpenLoad, Outcome
from rhapsode.bench.server.orders import Language, Level
from rhapsode.bench.server.quality import Quality
from rhapsode.bench.server.summary import Summary, is_carried

SCHEMA = "rhapsode.bench.server/1"


class Asked(BaseModel):
    """Of which server what was asked; never the key. frame_s: of a codec frame, where that is known of its kind.

    listener_buffer_s: with which holes are counted.
    """

    target: str
    url: str
    model: str | None
    voice: str | None
    instructions: str | None
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
    """

    load: Annotated[OpenLoad | ClosedLoad, Field(discriminator="kind")]
    begins_s: float
    ends_s: float
    stall_s: float
    failed: str = ""
    summary: Summary
    requests: list[Outcome]

    @property
    def is_carried(self) -> bool:
        return is_carried(self.load, self.summary)


class Skipped(BaseModel):
    stage: str
    why: str


class ServerReport(ReportFile):
    """ended: whether all that was asked for was tried. wall_s: of all of it.

    quality: None where nothing was judged.
    """

    schema_: Literal["rhapsode.bench.server/1"] = Field(default=SCHEMA, alias="schema")
    environment: Environment
    asked: Asked
    price_per_hour: float | None = None
    stages: list[StageReport] = Field(default_factory=list[StageReport])
    quality: Quality | None = None
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


def _place(load: OpenLoad | ClosedLoad) -> tuple[bool, float]:
    return (False, load.streams) if isinstance(load, ClosedLoad) else (True, load.rate)
