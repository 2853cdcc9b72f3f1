"""A measurement that was stopped goes on where it was."""

from __future__ import annotations

import pytest

from rhapsode.bench.server.load import ClosedLoad
from rhapsode.bench.server.orders import SpeechTarget, TextChoice
from rhapsode.bench.server.plan import BenchPlan
from rhapsode.bench.server.report import NotTheSame, ServerReport, continued
from rhapsode.bench.server.run import run_all
from tests.rhapsode.bench.server.measured import BEGINS_S, report, stage
from tests.rhapsode.bench.server.speech_servers import Manner, speech_server

WINDOW_S = 20.0


def test_what_was_broken_off_is_measured_again() -> None:
    whole, short, failed = (stage(ClosedLoad(number)) for number in (1, 2, 4))
    before = report(
        [
            whole,
            short.model_copy(update={"ends_s": BEGINS_S + 3}),
            failed.model_copy(update={"failed": "a client ended with status 1"}),
        ]
    )

    assert continued(before, before.asked, WINDOW_S).stages == [whole]


def test_another_question_does_not_go_on() -> None:
    before = report([stage(ClosedLoad(1))])

    with pytest.raises(NotTheSame, match="seed, clients"):
        continued(before, before.asked.model_copy(update={"seed": 7, "clients": 9}), WINDOW_S)


def test_only_what_is_lacking_is_measured_and_each_stage_is_kept() -> None:
    kept: list[int] = []
    before = report([stage(ClosedLoad(1))])
    before.ended, before.wall_s = "interrupted", 30.0
    with speech_server("nari", Manner()) as url:
        loads = (ClosedLoad(1), ClosedLoad(2), ClosedLoad(3))
        wanted = BenchPlan("nari", SpeechTarget(url), TextChoice(), loads, 0.0, 0.5, 20.0, 60.0, 1)
        run_all(before, wanted, lambda _: None, keep=lambda: kept.append(len(before.stages)))

    assert [each.load for each in before.stages] == list(loads)
    assert len(before.stages[0].requests) == 40, "as it was"
    assert kept == [2, 3]
    assert (before.ended, before.wall_s > 30) == ("complete", True)
    assert ServerReport.model_validate_json(before.model_dump_json(by_alias=True)) == before
