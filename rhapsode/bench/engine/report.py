"""What `rhapsode bench` found, as it stands in a file."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from rhapsode.bench.environment import Environment
from rhapsode.bench.report_file import ReportFile
from worker.bench.messages import ClosedLoop, Device, Failed, FirstAudio, LeftOut, Started

SCHEMA = "rhapsode.bench/1"


class ModelReport(BaseModel):
    """One model in one precision.

    weights: random ones of a published size, or whose. started: of the engine for throughput; None if none started.
    """

    model: str
    weights: Literal["random", "small voice", "given"]
    precision: str
    request_s: tuple[float, float]
    started: Started | None = None
    closed_loop: list[ClosedLoop] = []
    first_audio: list[FirstAudio] = []
    failed: list[Failed] = []
    left_out: list[LeftOut] = []

    @property
    def fastest(self) -> ClosedLoop | None:
        return max(self.closed_loop, key=lambda row: row.audio_s_per_s, default=None)


class BenchReport(ReportFile):
    """A run of the command. ended: whether all that was asked for was tried."""

    schema_: Literal["rhapsode.bench/1"] = Field(default=SCHEMA, alias="schema")
    environment: Environment
    device: Device | None = None
    price_per_gpu_hour: float | None = None
    models: list[ModelReport] = Field(default_factory=list[ModelReport])
    ended: Literal["complete", "incomplete", "interrupted"] = "incomplete"
    wall_s: float = 0.0
