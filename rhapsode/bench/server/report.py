"""What a measurement of a server found: the summary of each stage, and the whole as it stands in a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, Field, JsonValue

from rhapsode.bench.report import Environment, ReportFile
from rhapsode.bench.server.devices import DeviceUse
from rhapsode.bench.server.load import ClosedLoad, Load, MeasuredRequest, OpenLoad, RecordedLoad
from rhapsode.bench.server.orders import Language, Task, TextLevel
from rhapsode.bench.server.quality import JudgedQuality
from rhapsode.bench.statistics import Spread, spread


@dataclass(frozen=True, slots=True)
class Summary:
    """Of the requests that began behind the warm-up; `requests` of them, `whole` of which arrived whole.

    errors: how often each was met. Spreads are over whole answers (first_byte, playable and audible: over all that came
    so far), None without any. rtf: seconds to the end for each second of speech. with_gaps: whole answers with a buffer
    underrun at the listener's buffer. buffer: the one that avoids it. audio_s_per_s, frames_per_s: speech, and codec
    frames, that came within the window; requests_per_s: whole answers that ended in it. lag: of the clients, which
    began a request so much too late.
    """

    requests: int
    whole: int
    errors: dict[str, int]
    first_byte: Spread | None
    playable: Spread | None
    audible: Spread | None
    total: Spread | None
    rtf: Spread | None
    connect: Spread | None
    lag: Spread | None
    buffer: Spread | None
    audio: Spread | None
    with_gaps: int
    longest_gap_s: float
    audio_s_per_s: float
    requests_per_s: float
    frames_per_s: float | None


def summarize(
    outcomes: Sequence[MeasuredRequest], begins_s: float, ends_s: float, frame_s: float | None, listener_buffer_s: float
) -> Summary:
    """begins_s, ends_s: of the window, from the stage's beginning; audio is counted in it whichever request it is of.

    listener_buffer_s: how long who listens waits behind the first sample before it is played.
    """
    counted = [each for each in outcomes if each.is_counted]
    whole = [each for each in counted if each.error is None]
    window_s = max(ends_s - begins_s, 1e-9)
    audio_s_per_s = sum(each.window_audio_s for each in outcomes) / window_s
    ended = [end for each in outcomes if each.error is None if (end := ended_s(each)) is not None]
    return Summary(
        requests=len(counted),
        whole=len(whole),
        errors=dict(Counter(each.error for each in counted if each.error is not None).most_common()),
        first_byte=spread(each.first_byte_s for each in counted),
        playable=spread(each.playable_s for each in counted),
        audible=spread(each.audible_s for each in counted),
        total=spread(each.total_s for each in whole),
        rtf=spread(rtf(each) for each in whole),
        connect=spread(each.connect_s for each in counted),
        lag=spread(each.lag_s for each in counted),
        buffer=spread(each.buffer_s for each in whole),
        audio=spread(each.audio_s for each in whole),
        with_gaps=sum(each.buffer_s > listener_buffer_s for each in whole),
        longest_gap_s=max((each.longest_gap_s for each in whole), default=0.0),
        audio_s_per_s=audio_s_per_s,
        requests_per_s=sum(begins_s <= end < ends_s for end in ended) / window_s,
        frames_per_s=None if frame_s is None else audio_s_per_s / frame_s,
    )


def ended_s(outcome: MeasuredRequest) -> float | None:
    """From the stage's beginning; None for what did not come to an end."""
    if outcome.total_s is None:
        return None
    return outcome.due_s + outcome.lag_s + (outcome.connect_s or 0.0) + outcome.total_s


def rtf(outcome: MeasuredRequest) -> float | None:
    return outcome.total_s / outcome.audio_s if outcome.total_s is not None and outcome.audio_s else None


SCHEMA = "rhapsode.bench.server/1"


class MeasuredServer(BaseModel):
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
    levels: tuple[TextLevel, ...]
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
    requests: list[MeasuredRequest]

    @property
    def is_carried(self) -> bool:
        """Whether so many streams were in real time: every one whole, without buffer underruns."""
        found = self.summary
        return (
            isinstance(self.load, ClosedLoad)
            and 0 < found.whole == found.requests
            and found.with_gaps == 0
            and found.rtf is not None
            and found.rtf.most < 1
        )


class Skipped(BaseModel):
    stage: str
    why: str


class ServerReport(ReportFile):
    """ended: whether all that was asked for was tried. wall_s: of all of it.

    quality: None where nothing was judged. baseline: what another server gave meanwhile, in turns with this one.
    """

    schema_: Literal["rhapsode.bench.server/1"] = Field(default=SCHEMA, alias="schema")
    environment: Environment
    asked: MeasuredServer
    price_per_hour: float | None = None
    stages: list[StageReport] = Field(default_factory=list[StageReport])
    quality: JudgedQuality | None = None
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
        """The maximum number of streams in real time; 0 if none were."""
        return max((streams for streams, is_carried in self.tried_streams.items() if is_carried), default=0)


def _place(load: Load) -> tuple[int, float]:
    match load:
        case ClosedLoad():
            return 0, load.streams
        case OpenLoad():
            return 1, load.rate
        case RecordedLoad():
            return 2, 0.0


_NEARLY_S = 0.05


class NotTheSame(Exception):
    """What the report says was asked is not what is asked now. The message says what differs."""


def continued(report: ServerReport, asked: MeasuredServer, window_s: float) -> ServerReport:
    """The report without the stages that did not last their window or broke off. Raises NotTheSame."""
    before, now = report.asked.model_dump(), asked.model_dump()
    if different := [name for name in now if before[name] != now[name]]:
        raise NotTheSame(", ".join(name.replace("_", " ") for name in different))
    whole = [
        stage for stage in report.stages if not stage.failed and stage.ends_s - stage.begins_s > window_s - _NEARLY_S
    ]
    return report.model_copy(update={"stages": whole})
