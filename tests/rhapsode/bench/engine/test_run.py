"""Engines that fail, end or hang at a stage: what of the rest is measured, and what is said."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from rhapsode.bench.engine.report import BenchReport, Message
from rhapsode.bench.engine.run import BenchModel, EngineRun, plan_runs, run_all
from tests.rhapsode.bench.engine.measured import environment

# Says what a real one says: a row for each stage, unless the test has something else happen there.
TWIN = """
import json, os, signal, sys, time
happens, task = json.loads(sys.argv[1]), json.loads(sys.argv[2])
def say(kind, **fields): print(json.dumps({"kind": kind, **fields}), flush=True)
say("begins", stage="start")
print("a library that prints", flush=True)
start = happens.get(f"start with {task['slots']}")
if start == "refuse":
    say("failed", stage="start", error="StartError: too old", is_final=True)
    sys.exit()
if start == "fail":
    say("failed", stage="start", error="OutOfMemoryError: CUDA out of memory", is_final=False)
    sys.exit()
if start == "die":
    os.kill(os.getpid(), signal.SIGKILL)
if start == "late":
    say("started", checkpoint_s=1.0, start_s=2.0, slots=5, memory_bytes=1, cards=[])
    say("left_out", stage="5 streams", why="the time was over")
    sys.exit()
slots = min(task["slots"], happens.get("slots", 1024))
say("started", checkpoint_s=1.0, start_s=2.0, slots=slots, memory_bytes=1, cards=[])
for running in task["first_running"]:
    say("begins", stage=f"first audio beside {running}" if running else "first audio alone")
    say("first_audio", running=running, waits_ms=[1.0, 2.0])
for streams in sorted({min(wanted, slots) for wanted in task["streams"]}):
    stage = f"{streams} streams" if streams > 1 else "1 stream"
    say("begins", stage=stage)
    if happens.get(stage) == "fail":
        say("failed", stage=stage, error="RuntimeError: no", is_final=False)
        continue
    if happens.get(stage) == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if happens.get(stage) == "hang":
        time.sleep(600)
    say("closed_loop", streams=streams, window_s=1.0, requests=1, audio_s_per_s=10.0 * streams,
        real_time_per_stream=10.0, memory_bytes=1)
"""

Measure = Callable[..., BenchReport]


@pytest.fixture
def measure(tmp_path: Path) -> Measure:
    script = tmp_path / "twin.py"
    script.write_text(TWIN)

    def run(streams: Sequence[int], happens: dict[str, object], seconds: float = 60.0) -> BenchReport:
        report = BenchReport(environment=environment())
        engine = EngineRun(
            BenchModel("1.7b", "random", tmp_path / "1.7b", "1.7b"),
            "cuda:0",
            "throughput",
            "bfloat16",
            max(streams),
            tuple(streams),
            (),
            (63, 188),
            1,
        )
        run_all(report, [engine], seconds, _ignore, (sys.executable, str(script), json.dumps(happens)))
        return report

    return run


def _ignore(_model: str, _message: Message) -> None:
    return


def measured(report: BenchReport) -> list[int]:
    return [row.streams for row in report.models[0].closed_loop]


def failures(report: BenchReport) -> list[tuple[str, str]]:
    return [(failed.stage, failed.error) for failed in report.models[0].failed]


def test_every_stage_is_a_row(measure: Measure) -> None:
    report = measure([1, 8, 64], {})

    assert (measured(report), failures(report), report.ended) == ([1, 8, 64], [], "complete")


def test_a_stage_that_fails_is_said_and_the_rest_goes_on(measure: Measure) -> None:
    report = measure([1, 8, 64], {"8 streams": "fail"})

    assert (measured(report), failures(report)) == ([1, 64], [("8 streams", "RuntimeError: no")])


def test_an_engine_that_dies_is_started_again_for_what_is_left(measure: Measure) -> None:
    report = measure([1, 8, 64], {"8 streams": "die"})

    assert sorted(measured(report)) == [1, 64]
    assert failures(report) == [("8 streams", "the engine's process ended with signal 9")]


def test_an_engine_that_does_not_start_is_tried_with_fewer_slots(measure: Measure) -> None:
    report = measure([1, 8, 64], {"start with 64": "fail", "start with 8": "die"})

    assert measured(report) == [1]
    assert failures(report) == [
        ("start with 64 slots", "OutOfMemoryError: CUDA out of memory"),
        ("start with 8 slots", "the engine's process ended with signal 9"),
    ]


def test_what_can_never_work_is_tried_once(measure: Measure) -> None:
    report = measure([1, 8], {"start with 8": "refuse"})

    assert (measured(report), failures(report)) == ([], [("start with 8 slots", "StartError: too old")])


def test_where_there_are_fewer_slots_all_of_them_are_measured_once(measure: Measure) -> None:
    report = measure([1, 8, 64], {"slots": 5})

    assert (measured(report), failures(report)) == ([1, 5], [])


def test_fewer_slots_that_die_are_not_tried_for_ever(measure: Measure) -> None:
    report = measure([1, 8, 64], {"slots": 5, "5 streams": "die"})

    assert (measured(report), failures(report)) == ([1], [("5 streams", "the engine's process ended with signal 9")])


def test_what_there_is_no_time_for_is_left_out(measure: Measure) -> None:
    report = measure([1, 8], {}, seconds=1.0)

    assert [left.stage for left in report.models[0].left_out] == ["1 stream", "8 streams"]


def test_an_engine_that_starts_too_late_is_not_started_again(measure: Measure) -> None:
    report = measure([1, 8], {"start with 8": "late"})

    assert [left.stage for left in report.models[0].left_out] == ["5 streams"]
    assert (measured(report), failures(report)) == ([], [])


def test_ctrl_c_leaves_what_there_was(measure: Measure, tmp_path: Path) -> None:
    report = BenchReport(environment=environment())
    engine = plan_runs([BenchModel("1.7b", "random", tmp_path, "1.7b")], "cuda:0", "bfloat16", (1, 8))[1]

    def interrupt(_model: str, message: Message) -> None:
        if message.kind == "begins" and message.stage == "8 streams":
            signal.raise_signal(signal.SIGINT)

    command = (sys.executable, str(tmp_path / "twin.py"), json.dumps({"8 streams": "hang"}))
    with pytest.raises(KeyboardInterrupt):
        run_all(report, [engine], 60.0, interrupt, command)

    assert (measured(report), report.ended) == ([1], "interrupted")


def test_a_gpu_has_an_engine_for_the_wait_of_one_and_one_for_many(tmp_path: Path) -> None:
    models = [BenchModel(name, "random", tmp_path / name, name) for name in ("0.6b", "1.7b")]

    runs = plan_runs(models, "cuda:0", "float8", (1, 512))

    assert [(run.model.name, run.profile, run.slots) for run in runs] == [
        ("0.6b", "latency", 40),
        ("0.6b", "throughput", 512),
        ("1.7b", "latency", 40),
        ("1.7b", "throughput", 512),
    ]
    assert [run.stages for run in runs[:2]] == [
        ("first audio alone", "first audio beside 32"),
        ("1 stream", "512 streams"),
    ]
