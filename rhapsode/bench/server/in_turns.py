"""Two servers measured in turns, a short window each, so that whatever else their machine does meets both alike."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from rhapsode.bench.server.devices import joined_devices
from rhapsode.bench.server.load.clients import COMMAND
from rhapsode.bench.server.load.messages import Load, Outcome
from rhapsode.bench.server.plan import Plan
from rhapsode.bench.server.report import ServerReport, Skipped, StageReport
from rhapsode.bench.server.run import Stage, Tell
from rhapsode.bench.server.summary import ended_s, summarize

ROUNDS = 3


def run_in_turns(
    reports: tuple[ServerReport, ServerReport],
    plans: tuple[Plan, Plan],
    tell: Tell,
    rounds: int = ROUNDS,
    command: Sequence[str] = COMMAND,
) -> None:
    """Fills both reports, a stage for each load. The plans are alike but for whom they ask."""
    began_s = time.monotonic()
    until_s = began_s + plans[0].seconds
    try:
        for load in plans[0].loads:
            parts = _measure(reports, plans, load, tell, rounds, command, until_s)
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
    plans: tuple[Plan, Plan],
    load: Load,
    tell: Tell,
    rounds: int,
    command: Sequence[str],
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
            told = _named("baseline", tell) if which else tell
            stage = Stage(replace(plan, texts=texts), load, asked.frame_s, asked.listener_buffer_s, told)
            stage.run(command, until_s)
            found[which].append(stage.report())
    return found


def _named(name: str, tell: Tell) -> Tell:
    def told(line: str) -> None:
        tell(f"{name}: {line}")

    return told


def joined(stages: Sequence[StageReport], frame_s: float | None, listener_buffer_s: float) -> StageReport:
    """Windows of one load one behind the other, as one window. What came to nothing before its window is left out."""
    first = stages[0]
    at_s, outcomes = first.begins_s, list[Outcome]()
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
