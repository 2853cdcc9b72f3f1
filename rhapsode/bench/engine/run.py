"""Which engines a run measures, each in a separate process, and how it collects their results."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from rhapsode.bench.children import child_process
from rhapsode.bench.engine.report import (
    FRAME_S,
    START_STAGE,
    Begins,
    BenchReport,
    ClosedLoop,
    Device,
    EngineTask,
    FirstAudio,
    Message,
    ModelReport,
    StageFailed,
    StageLeftOut,
    Started,
    first_audio_stage,
    streams_stage,
)

GPU_STREAMS = (1, 8, 32, 64, 128, 256, 512)
CPU_STREAMS = (1, 4, 8)
FIRST_RUNNING = (0, 32)
# In codec frames of 80 ms: 5 to 15 s, and 1 to 3 s where a core has to do it.
GPU_FRAMES = (63, 188)
CPU_FRAMES = (13, 38)
_SLOTS_BESIDE = 8


@dataclass(frozen=True, slots=True)
class BenchModel:
    """name: as it is shown. draw_size: of random weights, for which `folder` is the place."""

    name: str
    weights: Literal["random", "small voice", "given"]
    folder: Path
    draw_size: str | None = None


@dataclass(frozen=True, slots=True)
class EngineRun:
    """weight: its part of the time that is left for it and for those after it."""

    model: BenchModel
    device: str
    profile: str
    precision: str
    slots: int
    streams: tuple[int, ...]
    first_running: tuple[int, ...]
    frames: tuple[int, int]
    weight: int

    @property
    def stages(self) -> tuple[str, ...]:
        return (*map(first_audio_stage, self.first_running), *map(streams_stage, self.streams))

    @property
    def request_s(self) -> tuple[float, float]:
        return round(self.frames[0] * FRAME_S, 1), round(self.frames[1] * FRAME_S, 1)


def plan_runs(models: Sequence[BenchModel], device: str, precision: str, streams: tuple[int, ...]) -> list[EngineRun]:
    """On a GPU two engines a model: a small one for the wait of one, then one with as many slots as are wanted."""
    few, many = max(FIRST_RUNNING) + _SLOTS_BESIDE, max(streams)
    runs: list[EngineRun] = []
    for model in models:
        if device.startswith("cuda"):
            runs.append(EngineRun(model, device, "latency", precision, few, (), FIRST_RUNNING, GPU_FRAMES, 2))
            runs.append(EngineRun(model, device, "throughput", precision, many, streams, (), GPU_FRAMES, 3))
        else:
            alone = FIRST_RUNNING[:1]
            runs.append(EngineRun(model, device, "balanced", precision, many, streams, alone, CPU_FRAMES, 1))
    return runs


COMMAND = (sys.executable, "-m", "rhapsode.bench.engine.measuring")

_MESSAGES: TypeAdapter[Message] = TypeAdapter(Annotated[Message, Field(discriminator="kind")])
_LEAST_RUN_S = 5.0
_GRACE_S = 60.0
"""A process that hangs ends itself some seconds earlier."""

Tell = Callable[[str, Message], None]
"""Is called with the model's name and each message as it comes."""


def run_all(
    report: BenchReport, runs: Sequence[EngineRun], seconds: float, tell: Tell, command: Sequence[str] = COMMAND
) -> None:
    """Fills the report as the measurements come, so that an interrupted run has a report."""
    began_s = time.monotonic()
    try:
        for number, run in enumerate(runs):
            left_s = seconds - (time.monotonic() - began_s)
            weights = [each.weight for each in runs[number:]]  # what one leaves, those after it have
            _Collector(report, _model_of(report, run), run, tell, command).collect(left_s * weights[0] / sum(weights))
        report.ended = "complete"
    except KeyboardInterrupt:
        report.ended = "interrupted"
        raise
    finally:
        report.wall_s = round(time.monotonic() - began_s, 1)


def _model_of(report: BenchReport, run: EngineRun) -> ModelReport:
    """The one of an earlier run of the same model, or a new one."""
    for known in report.models:
        if (known.model, known.precision) == (run.model.name, run.precision):
            return known
    new = ModelReport(model=run.model.name, weights=run.model.weights, precision=run.precision, request_s=run.request_s)
    report.models.append(new)
    return new


@dataclass
class _Collector:
    """One run of the plan. An engine that goes with a stage is started again for those after it.

    _stage: where the process is. _slots: of its engine. _settled: stages that were measured, failed or left out.
    _has_refused: what was asked for can never work. _has_not_started: but with fewer slots it may.
    """

    report: BenchReport
    model: ModelReport
    run: EngineRun
    tell: Tell
    command: Sequence[str]
    _pending: EngineRun = field(init=False)
    _stage: str = START_STAGE
    _slots: int = 0
    _settled: set[str] = field(default_factory=set[str])
    _has_refused: bool = False
    _has_not_started: bool = False

    def collect(self, seconds: float) -> None:
        until_s = time.monotonic() + seconds
        while pending := self._what_is_left():
            left_s = until_s - time.monotonic()
            if left_s < _LEAST_RUN_S:
                for stage in pending.stages:
                    self._take(StageLeftOut(stage, "the time was over"))
                return
            self._pending, self._stage, self._slots, self._has_not_started = pending, START_STAGE, pending.slots, False
            if status := self._run_process(left_s):
                self._take_crash(status)
            elif self._has_refused or not self._has_not_started:
                return

    def _what_is_left(self) -> EngineRun | None:
        """Slots follow the streams."""
        streams = tuple(count for count in self.run.streams if streams_stage(count) not in self._settled)
        running = tuple(count for count in self.run.first_running if first_audio_stage(count) not in self._settled)
        if not streams and not running:
            return None
        return replace(
            self.run,
            streams=streams,
            first_running=running,
            slots=max(streams) if streams else self.run.slots,
        )

    def _run_process(self, seconds: float) -> int:
        """The status with which it ended."""
        run = self._pending
        task = EngineTask(
            checkpoint=str(run.model.folder),
            draw_size=run.model.draw_size,
            device=run.device,
            profile=run.profile,
            precision=run.precision,
            slots=run.slots,
            streams=run.streams,
            first_running=run.first_running,
            frames=run.frames,
            seconds=round(seconds, 1),
        )
        with child_process([*self.command, json.dumps(asdict(task))], seconds + _GRACE_S) as child:
            for message in child.messages(_MESSAGES):
                self._take(message)
            return child.process.wait()

    def _take(self, message: Message) -> None:
        match message:
            case Begins():
                self._stage = message.stage
            case Device():
                self.report.device = message
            case Started():
                self._slots = message.slots
                if self.run.streams:
                    self.model.started = message
            case ClosedLoop():
                self.model.closed_loop.append(message)
                self._settled.add(self._stage)
            case FirstAudio():
                self.model.first_audio.append(message)
                self._settled.add(self._stage)
            case StageLeftOut():
                self.model.left_out.append(message)
                self._settled.add(message.stage)
            case StageFailed():
                self._take_failure(message)
        self.tell(self.model.model, message)

    def _take_crash(self, status: int) -> None:
        """The stage that took the process along; it may have said already what it failed of."""
        if self._stage not in self._settled:
            how = f"signal {-status}" if status < 0 else f"status {status}"
            self._take(StageFailed(self._stage, f"the engine's process ended with {how}"))

    def _take_failure(self, failure: StageFailed) -> None:
        """An engine that did not start is tried with fewer slots: with those that the next fewer streams want."""
        self._has_refused = failure.is_final
        if failure.stage == START_STAGE:
            self._has_not_started = True
            failure = replace(failure, stage=f"{START_STAGE} with {self._pending.slots} slots")
            self._settle_the_most()
        elif failure.stage not in self._pending.stages:
            self._settle_the_most()  # fewer slots than streams
        self._settled.add(failure.stage)
        self.model.failed.append(failure)

    def _settle_the_most(self) -> None:
        """The streams that take all slots, or all that beside them would be tried again."""
        run = self._pending
        if not run.streams:
            self._settled.update(run.stages)
        most = {count for count in run.streams if count >= min(self._slots, max(run.streams))}
        self._settled.update(map(streams_stage, most))
