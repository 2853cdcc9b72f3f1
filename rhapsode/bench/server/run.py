"""Runs the stages of a plan against a server, or against two in turns, and keeps what was seen until then."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from rhapsode.bench.server.clients import COMMAND, ClientLost, begun_clients
from rhapsode.bench.server.devices import DeviceUse, DeviceWatch, joined_devices
from rhapsode.bench.server.listening import CountedWindow, Ear, RequestFailed, Unreachable
from rhapsode.bench.server.load import ClientReady, ClientTask, ClosedLoad, Load, MeasuredRequest, Stall
from rhapsode.bench.server.orders import SpeechTarget, TextBank, TextChoice
from rhapsode.bench.server.plan import BenchPlan, next_streams
from rhapsode.bench.server.quality import JudgeLost, measure_quality
from rhapsode.bench.server.report import MeasuredServer, ServerReport, Skipped, StageReport, ended_s, summarize
from rhapsode.bench.server.targets import TARGETS
from rhapsode.errors import RhapsodeError

TELL_EVERY_S = 2.0
_DRAIN_S = 10.0
"""What a stage is thought to take beyond its window, where it is asked whether it fits."""


class NoSpeech(RhapsodeError):
    """The server did not speak the first text, so that there is nothing to measure."""


Tell = Callable[[str], None]
Keep = Callable[[], None]


def check_speaks(plan: BenchPlan, number: int = 0) -> float:
    """Seconds for each character of one short text, to the end of its speech. Raises NoSpeech.

    number: of the text; another one is not in the server's memory.
    """
    order = TextBank(TextChoice(plan.texts.seed, plan.texts.levels[:1], plan.texts.languages[:1])).order(number)

    async def speak(target: str, speaking: SpeechTarget) -> None:
        async with asyncio.timeout(plan.timeout_s):
            await TARGETS[target](speaking).speak(order, Ear(CountedWindow(0.0, 0.0)))

    began_s = time.monotonic()
    try:
        asyncio.run(speak(plan.target, plan.speaking))
    except Unreachable as error:
        raise NoSpeech(f"{plan.speaking.url}: {error}") from error
    except TimeoutError:
        raise NoSpeech(f"{plan.speaking.url}: no speech in {plan.timeout_s:g} s") from None
    except RequestFailed as error:
        others = ", ".join(name for name in TARGETS if name != plan.target)
        raise NoSpeech(f"{plan.speaking.url} does not speak as {plan.target}: {error} (--target: {others})") from error
    return (time.monotonic() - began_s) / len(order.text)


def run_all(
    report: ServerReport, plan: BenchPlan, tell: Tell, command: Sequence[str] = COMMAND, keep: Keep = lambda: None
) -> None:
    """Fills the report as stages end, so that an interrupted run has a report. What it has already
    is not measured again.

    tell: is called with a line of progress every few seconds; keep: behind each stage.
    """
    began_s = time.monotonic()
    before_s = report.wall_s
    report.left_out, report.ended = [], "incomplete"
    try:
        _ServerRun(report, plan, tell, command, keep, began_s + plan.seconds).run()
        report.ended = "complete"
    except KeyboardInterrupt:
        report.ended = "interrupted"
        raise
    finally:
        report.wall_s = round(before_s + time.monotonic() - began_s, 1)


@dataclass(frozen=True, slots=True)
class _ServerRun:
    """A plan's stages on one server, up to `until_s`. Fields as `run_all` has them."""

    report: ServerReport
    plan: BenchPlan
    tell: Tell
    command: Sequence[str]
    keep: Keep
    until_s: float

    def run(self) -> None:
        if self._run_loads() and self.plan.ramp_to is not None:
            self._climb(self.plan.ramp_to)
        if self.plan.quality_texts and self.report.quality is None and self._has_time("quality"):
            self._listen()

    def _run_loads(self) -> bool:
        """Whether speech came at each of them; the first without any is the last."""
        measured = {stage.load for stage in self.report.stages}
        loads = [load for load in self.plan.loads if load not in measured]
        for number, load in enumerate(loads):
            if self._has_time(load.name) and not self._run_stage(load):
                why = f"no audio came at {load.name}"
                self.report.left_out += [Skipped(stage=left.name, why=why) for left in loads[number + 1 :]]
                return False
            self.keep()
        return True

    def _listen(self) -> None:
        with ExitStack() as opened:
            folder = self.plan.recordings or Path(opened.enter_context(TemporaryDirectory(prefix="rhapsode-bench-")))
            folder.mkdir(parents=True, exist_ok=True)
            left_s = self.until_s - time.monotonic()
            try:
                self.report.quality = measure_quality(self.plan, self.plan.quality_texts, folder, self.tell, left_s)
            except JudgeLost as error:
                self.report.left_out.append(Skipped(stage="quality", why=str(error)))

    def _climb(self, most: int) -> None:
        """Closed loops of more and more streams, until it is known how many are carried."""
        while (streams := next_streams(self.report.tried_streams, most)) is not None:
            load = ClosedLoad(streams)
            if not self._has_time(f"{load.name} of the ramp"):
                return
            self._run_stage(load)
            self.keep()

    def _has_time(self, stage: str) -> bool:
        """If not, the report says that it is left out."""
        has_time = time.monotonic() + self.plan.warm_up_s + self.plan.window_s + _DRAIN_S <= self.until_s
        if not has_time:
            self.report.left_out.append(Skipped(stage=stage, why="the time was over"))
        return has_time

    def _run_stage(self, load: Load) -> bool:
        """Whether any audio arrived."""
        stage = Stage(self.plan, load, self.report.asked, self.tell)
        try:
            stage.run(self.until_s, self.command)
        finally:
            self.report.stages.append(stage.report())
        return any(each.error is None for each in stage.outcomes)


@dataclass
class Stage:
    """One load on one server, from its clients' start to their end. `report` has what there is so far."""

    plan: BenchPlan
    load: Load
    asked: MeasuredServer
    tell: Tell
    outcomes: list[MeasuredRequest] = field(default_factory=list[MeasuredRequest])
    _failed: str = ""
    _stall_s: float = 0.0
    _begins_s: float = 0.0
    _ends_s: float | None = None
    _devices: DeviceUse | None = None

    def run(self, until_s: float, command: Sequence[str] = COMMAND) -> None:
        """To its last answer, or to `until_s`, whichever is earlier."""
        self.tell(f"{self.load.name} ...")
        tasks = [self._task(which, until_s) for which in range(self.plan.clients)]
        watch = DeviceWatch(self.plan.speaking.url)
        try:
            with watch, begun_clients(tasks, command) as (begins_s, messages):
                self._begins_s = told_s = begins_s
                for message in messages:
                    match message:
                        case MeasuredRequest():
                            self.outcomes.append(message)
                        case Stall():
                            self._stall_s = max(self._stall_s, message.worst_s)
                        case ClientReady():
                            pass
                    if time.monotonic() - told_s > TELL_EVERY_S:
                        told_s = time.monotonic()
                        self.tell(f"{self.load.name}: {self._so_far()}")
        except ClientLost as error:
            self._failed = str(error)
            self.tell(f"{self.load.name} failed: {error}")
        finally:
            self._ends_s = time.monotonic() - self._begins_s if self._begins_s else 0.0
            begins_s, ends_s = self._window()
            self._devices = watch.between(self._begins_s + begins_s, self._begins_s + ends_s)

    def _window(self) -> tuple[float, float]:
        """What is counted, from the stage's beginning."""
        begins_s, planned_s = self.plan.warm_up_s, self.plan.warm_up_s + self.plan.window_s
        return begins_s, max(begins_s, planned_s if self._ends_s is None else min(planned_s, self._ends_s))

    def report(self) -> StageReport:
        begins_s, ends_s = self._window()
        return StageReport(
            load=self.load,
            begins_s=begins_s,
            ends_s=round(ends_s, 3),
            stall_s=self._stall_s,
            failed=self._failed,
            devices=self._devices,
            summary=summarize(self.outcomes, begins_s, ends_s, self.asked.frame_s, self.asked.listener_buffer_s),
            requests=sorted(self.outcomes, key=lambda each: each.due_s),
        )

    def _task(self, which: int, until_s: float) -> ClientTask:
        plan = self.plan
        ends_s = plan.warm_up_s + plan.window_s
        return ClientTask(
            target=plan.target,
            speaking=plan.speaking,
            texts=plan.texts,
            load=self.load,
            which=which,
            of=plan.clients,
            warm_up_s=plan.warm_up_s,
            ends_s=ends_s,
            timeout_s=min(plan.timeout_s, max(_DRAIN_S, until_s - time.monotonic() - ends_s)),
        )

    def _so_far(self) -> str:
        failed = sum(each.error is not None for each in self.outcomes)
        audio_s = sum(each.audio_s for each in self.outcomes)
        return f"{len(self.outcomes)} ended, {failed} of them failed, {audio_s:,.0f} s of speech"


ROUNDS = 3


def run_in_turns(
    reports: tuple[ServerReport, ServerReport],
    plans: tuple[BenchPlan, BenchPlan],
    tell: Tell,
    rounds: int = ROUNDS,
) -> None:
    """Fills both reports, a stage for each load. The plans are alike but for whom they ask."""
    began_s = time.monotonic()
    until_s = began_s + plans[0].seconds
    try:
        for load in plans[0].loads:
            parts = _measure(reports, plans, load, tell, rounds, until_s)
            for report, stages in zip(reports, parts, strict=True):
                if stages:
                    report.stages.append(joined(stages, report.asked.frame_s, report.asked.listener_buffer_s))
                else:
                    report.left_out.append(Skipped(stage=load.name, why="the time was over"))
        for report in reports:
            report.ended = "complete"
    except KeyboardInterrupt:
        for report in reports:
            report.ended = "interrupted"
        raise
    finally:
        for report in reports:
            report.wall_s = round(time.monotonic() - began_s, 1)


def _measure(
    reports: tuple[ServerReport, ServerReport],
    plans: tuple[BenchPlan, BenchPlan],
    load: Load,
    tell: Tell,
    rounds: int,
    until_s: float,
) -> tuple[list[StageReport], list[StageReport]]:
    """Who goes first changes with each round. Other texts in each, the same for both."""
    found: tuple[list[StageReport], list[StageReport]] = ([], [])
    for number in range(rounds):
        if time.monotonic() + 2 * (plans[0].warm_up_s + plans[0].window_s) > until_s:
            break
        for which in (0, 1) if number % 2 == 0 else (1, 0):
            plan, asked = plans[which], reports[which].asked
            texts = replace(plan.texts, seed=plan.texts.seed + number)
            told: Tell = (lambda line: tell(f"baseline: {line}")) if which else tell
            stage = Stage(replace(plan, texts=texts), load, asked, told)
            stage.run(until_s)
            found[which].append(stage.report())
    return found


def joined(stages: Sequence[StageReport], frame_s: float | None, listener_buffer_s: float) -> StageReport:
    """Windows of one load one behind the other, as one window. What came to nothing before its window is left out."""
    first = stages[0]
    at_s, outcomes = first.begins_s, list[MeasuredRequest]()
    for stage in stages:
        moved = [replace(each, due_s=each.due_s + at_s - stage.begins_s) for each in stage.requests]
        outcomes += [each for each in moved if each.is_counted or (ended_s(each) or 0.0) >= at_s]
        at_s += stage.ends_s - stage.begins_s
    return StageReport(
        load=first.load,
        begins_s=first.begins_s,
        ends_s=round(at_s, 3),
        stall_s=max(stage.stall_s for stage in stages),
        failed=next((stage.failed for stage in stages if stage.failed), ""),
        devices=joined_devices([stage.devices for stage in stages]),
        summary=summarize(outcomes, first.begins_s, at_s, frame_s, listener_buffer_s),
        requests=outcomes,
    )
