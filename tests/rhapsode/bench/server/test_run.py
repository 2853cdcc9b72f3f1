"""Whole measurements with client processes: servers that speak, that fail in the middle, and clients that are lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO

import pytest

from rhapsode.bench.server.clients import COMMAND
from rhapsode.bench.server.load import ClientTask, ClosedLoad, Load, OpenLoad
from rhapsode.bench.server.orders import Language, SpeechTarget, TextBank, TextChoice, TextLevel
from rhapsode.bench.server.plan import BenchPlan, plan_loads, read_recorded
from rhapsode.bench.server.report import MeasuredServer, ServerReport
from rhapsode.bench.server.run import NoSpeech, check_speaks, run_all
from rhapsode.bench.server.text_report import text_report
from tests.rhapsode.bench.engine.measured import environment
from tests.rhapsode.bench.server.speech_servers import Manner, speech_server
from tests.threads import join_in_time

TEXTS = TextChoice(levels=(TextLevel.SHORT, TextLevel.MEDIUM))


def plan(url: str, *loads: Load, window_s: float = 1.0, seconds: float = 120.0, clients: int = 2) -> BenchPlan:
    return BenchPlan("nari", SpeechTarget(url, key="hush"), TEXTS, loads, 0.4, window_s, 20.0, seconds, clients)


def report() -> ServerReport:
    asked = MeasuredServer(
        target="nari",
        url="http://there",
        model=None,
        voice="v",
        instructions=None,
        parameters={},
        seed=0,
        levels=TEXTS.levels,
        languages=TEXTS.languages,
        timeout_s=20,
        clients=2,
        frame_s=0.08,
    )
    return ServerReport(environment=environment(), asked=asked, price_per_hour=2.0)


def run(
    chosen: BenchPlan, tell: Callable[[str], None] = lambda _: None, command: tuple[str, ...] = COMMAND
) -> ServerReport:
    found = report()
    run_all(found, chosen, tell, command)
    return found


def test_every_load_is_a_stage_and_every_request_asks_for_its_text() -> None:
    manner = Manner(pause_s=0.02)
    with speech_server("nari", manner) as url:
        found = run(plan(url, ClosedLoad(3), OpenLoad(8.0, "even")))

    closed, opened = found.stages
    assert (found.ended, found.left_out) == ("complete", [])
    assert [each.error for stage in found.stages for each in stage.requests] == [None] * len(manner.heard)
    bank = TextBank(TEXTS)
    asked = [bank.order(each.number).text for stage in found.stages for each in stage.requests]
    assert sorted(asked) == sorted(str(body["input"]) for body in manner.heard)
    assert sorted(each.number for each in opened.requests) == list(range(12))
    assert [each.is_counted for each in opened.requests] == [False] * 4 + [True] * 8
    assert len({each.number for each in closed.requests}) == len(closed.requests)
    assert closed.summary.audio_s_per_s > 0
    assert closed.summary.frames_per_s == pytest.approx(closed.summary.audio_s_per_s / 0.08)


def test_a_report_is_the_same_after_it_was_written_and_has_no_key(tmp_path: Path) -> None:
    with speech_server("nari", Manner()) as url:
        found = run(plan(url, ClosedLoad(1)))
    file = tmp_path / "report.json"

    found.write(file)

    assert ServerReport.read(file) == found
    assert "hush" not in file.read_text()


def test_a_listener_of_slow_speech_hears_its_holes() -> None:
    with speech_server("nari", Manner(pieces=3, pause_s=0.25)) as url:
        found = run(plan(url, ClosedLoad(1), window_s=2.0, clients=1))

    (stage,) = found.stages
    assert stage.summary.with_gaps == stage.summary.whole > 0
    assert stage.summary.rtf is not None
    assert stage.summary.rtf.p50 > 1
    assert all(each.gaps == 3 and each.buffer_s > 0.4 for each in stage.requests)
    assert not stage.is_carried


def test_of_a_server_that_fails_in_the_middle_there_is_what_was() -> None:
    with speech_server("nari", Manner(fails_after=30)) as url:
        found = run(plan(url, ClosedLoad(2), ClosedLoad(4), ClosedLoad(8)))

    heard = sum(each.error is None for stage in found.stages for each in stage.requests)
    assert heard == 30
    (failed,) = found.stages[-1].summary.errors
    assert failed.startswith("503")
    assert "out of memory" in failed
    assert len(found.stages) + len(found.left_out) == 3
    assert "FAILED" in text_report(found)


def test_a_load_at_which_nothing_is_heard_is_the_last() -> None:
    with speech_server("nari", Manner(fails_after=0)) as url:
        found = run(plan(url, ClosedLoad(1), ClosedLoad(2), OpenLoad(1.0)))

    assert [stage.summary.whole for stage in found.stages] == [0]
    assert [left.why for left in found.left_out] == ["no audio came at 1 stream"] * 2
    assert len(found.stages[0].requests) < 10, "a server that refuses at once is not asked in a busy loop"


def test_what_there_is_no_time_for_is_left_out() -> None:
    with speech_server("nari", Manner()) as url:
        found = run(plan(url, ClosedLoad(1), seconds=1.0))

    assert [(left.stage, left.why) for left in found.left_out] == [("1 stream", "the time was over")]


def test_a_client_that_is_lost_is_said_and_the_rest_goes_on() -> None:
    ready = 'import sys; sys.stdin.readline(); print(\'{"kind": "ready"}\', flush=True)'
    dying = (sys.executable, "-c", f"{ready}; sys.stdin.readline(); sys.exit(3)")
    with speech_server("nari", Manner()) as url:
        found = run(plan(url, ClosedLoad(1), clients=1), command=dying)

    assert found.stages[0].failed == "a client ended with status 3"
    assert "FAILED  1 stream: a client ended with status 3" in text_report(found)


def test_a_client_that_ends_before_it_begins_is_said() -> None:
    with speech_server("nari", Manner()) as url:
        found = run(
            plan(url, ClosedLoad(1), clients=1), command=(sys.executable, "-c", "print('a library that prints')")
        )

    assert found.stages[0].failed in {"a client did not start", "a client ended before it began"}


WHOLE_WINDOW_S = 3600.0
"""Longer than any test may take."""


def test_ctrl_c_leaves_what_there_was() -> None:
    found, manner = report(), Manner(pause_s=0.02)

    def interrupt() -> None:
        """Once so many have been asked for that some, begun behind the warm-up, were heard."""
        while len(manner.heard) < 30:
            time.sleep(0.05)
        signal.raise_signal(signal.SIGINT)

    somebody = threading.Thread(target=interrupt, daemon=True)
    somebody.start()
    with speech_server("nari", manner) as url, pytest.raises(KeyboardInterrupt):
        run_all(
            found,
            plan(url, ClosedLoad(2), ClosedLoad(4), window_s=WHOLE_WINDOW_S, seconds=3 * WHOLE_WINDOW_S),
            lambda _: None,
        )
    join_in_time(somebody)

    (stage,) = found.stages
    assert found.ended == "interrupted"
    assert stage.summary.whole > 0
    assert stage.ends_s < stage.begins_s + WHOLE_WINDOW_S
    assert "The run was interrupted" in text_report(found)


def test_a_server_of_another_kind_is_refused_before_anything_is_measured() -> None:
    with (
        speech_server("openai", Manner()) as url,
        pytest.raises(NoSpeech, match=r"does not speak as nari: 422 .*--target"),
    ):
        check_speaks(plan(url, ClosedLoad(1)))
    with pytest.raises(NoSpeech, match=r"^http://127.0.0.1:9: 127.0.0.1:9: "):
        check_speaks(plan("http://127.0.0.1:9", ClosedLoad(1)))


def test_loads_are_closed_loops_first_each_once_and_from_few_to_many() -> None:
    assert plan_loads([8, 1, 8], [2.0, 0.5], "even") == (
        ClosedLoad(1),
        ClosedLoad(8),
        OpenLoad(0.5, "even"),
        OpenLoad(2.0, "even"),
    )


def test_a_ramp_goes_on_from_what_was_tried_until_it_knows() -> None:
    with speech_server("nari", Manner(fails_after=40)) as url:
        chosen = replace(plan(url, ClosedLoad(2)), ramp_to=8)
        found = run(chosen)

    tried = found.tried_streams
    assert next(iter(tried)) == 2
    assert not all(tried.values())
    assert max(tried) <= 8


def test_requests_come_as_they_were_recorded(tmp_path: Path) -> None:
    (tmp_path / "monday.txt").write_text("100.3\n100.0\n\n100.9\n")
    load = read_recorded(tmp_path / "monday.txt")
    with speech_server("nari", Manner()) as url:
        found = run(plan(url, load))

    (stage,) = found.stages
    assert (stage.load.name, load.due_s) == ("as in monday.txt", (0.0, 0.3, 0.9))
    assert [each.due_s for each in stage.requests] == [0.0, 0.3, 0.9]
    assert found.by_load == [stage]
    for text in ("", "soon", "nan", "1\ninf"):
        (tmp_path / "bad.txt").write_text(text)
        with pytest.raises(ValueError, match=r"seconds|convert"):
            read_recorded(tmp_path / "bad.txt")


def test_languages_are_told_to_those_who_ask_for_them() -> None:
    manner = Manner()
    with speech_server("nari", manner) as url:
        chosen = plan(url, ClosedLoad(1))
        texts = TextChoice(languages=(Language.ENGLISH, Language.CHINESE, Language.MIXED))
        run(BenchPlan("nari", chosen.speaking, texts, (OpenLoad(9.0, "even"),), 0.0, 1.0, 20.0, 60.0, 1))

    assert {str(body["language"]) for body in manner.heard} == {"English", "Chinese", "Auto"}


def begun_client(process: subprocess.Popen[str]) -> IO[str]:
    """What the client reports to, once it is ready."""
    assert process.stdin is not None
    assert process.stdout is not None
    speaking = SpeechTarget("http://127.0.0.1:9")
    task = ClientTask("nari", speaking, TEXTS, ClosedLoad(4), 0, 1, 0.0, WHOLE_WINDOW_S, 20.0)
    process.stdin.write(json.dumps(asdict(task)) + "\n")
    process.stdin.flush()
    assert '"ready"' in process.stdout.readline()
    return process.stdout


def client_process() -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen(COMMAND, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def test_a_client_whose_bench_was_killed_ends_without_a_word() -> None:
    with client_process() as waiting, client_process() as at_work:
        begun_client(waiting)
        told = begun_client(at_work)
        assert at_work.stdin is not None
        at_work.stdin.write(f"{time.monotonic()!r}\n")
        at_work.stdin.flush()
        told.close()
        at_work.stdout = None  # closed: nobody reads it

        for process in (waiting, at_work):
            assert process.communicate()[1] == ""
            assert process.returncode == os.EX_IOERR
