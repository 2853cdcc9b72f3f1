"""Two servers in turns: what each gave, put together, and what is said of the slower one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rhapsode.bench.server.compare import compare
from rhapsode.bench.server.load import ClosedLoad
from rhapsode.bench.server.orders import SpeechTarget, TextChoice
from rhapsode.bench.server.plan import BenchPlan
from rhapsode.bench.server.run import joined, run_in_turns
from tests.rhapsode.bench.server.measured import BEGINS_S, ENDS_S, report, stage
from tests.rhapsode.bench.server.speech_servers import Manner, speech_server

LOAD = ClosedLoad(4)


def plan(url: str, seconds: float = 60.0) -> BenchPlan:
    return BenchPlan("nari", SpeechTarget(url), TextChoice(), (LOAD,), 0.0, 0.5, 20.0, seconds, 1)


def test_both_say_the_same_texts_in_turns_and_the_slower_one_is_worse() -> None:
    ours, theirs = Manner(pause_s=0.05), Manner(pause_s=0.005)
    found = report([]), report([])
    told: list[str] = []
    with speech_server("nari", ours) as url, speech_server("nari", theirs) as other:
        run_in_turns(found, (plan(url), plan(other)), told.append, rounds=2)

    begun = [line for line in told if line.endswith("...")]
    assert begun == ["4 streams ...", "baseline: 4 streams ...", "baseline: 4 streams ...", "4 streams ..."]
    assert {str(each["input"]) for each in ours.heard} & {str(each["input"]) for each in theirs.heard}
    for each in found:
        (both,) = each.stages
        assert both.ends_s - both.begins_s == pytest.approx(1.0, abs=0.05)
        assert both.summary.whole == len(both.requests) > 8
    worse = {each.figure for each in compare(found[1], found[0]).differences if each.is_worse_by(1.25)}
    assert "whole, median" in worse
    assert not [each for each in compare(found[0], found[1]).differences if each.is_worse_by(1.25)]


def test_windows_put_together_have_the_speed_of_one() -> None:
    part = stage(LOAD)
    late = [replace(each, is_counted=False, due_s=BEGINS_S - 4.9, window_audio_s=0.0) for each in part.requests[1:3]]
    begun = part.model_copy(update={"requests": [*late, *part.requests]})

    found = joined([begun, begun], 0.08, 0.0)

    assert found.ends_s - found.begins_s == 2 * (ENDS_S - BEGINS_S)
    assert found.summary.audio_s_per_s == pytest.approx(part.summary.audio_s_per_s)
    assert found.summary.requests == 2 * part.summary.requests


def test_what_there_is_no_time_for_is_left_out_of_both() -> None:
    found = report([]), report([])

    run_in_turns(found, (plan("http://127.0.0.1:9", 0.1), plan("http://127.0.0.1:9", 0.1)), lambda _: None)

    assert [[left.why for left in each.left_out] for each in found] == [["the time was over"]] * 2
