"""While live speech would run dry, others skip their turn, and say the same as ever."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from worker.engine.build import build_engine
from worker.engine.cpu.giving_way import LEAST_LEAD_S, LONGEST_PAUSE_S, GivingWay
from worker.engine.cpu.scheduler import Scheduler, StepPlan
from worker.engine.interface import BuiltInSpeaker, SamplingParams, Speech, SpeechRequest, Urgency
from worker.engine.requests.prompt import PromptLayout
from worker.engine.requests.request_state import RequestState, RowEnd
from worker.engine.settings import NativeEngineSettings

ROWS, LIVE_ROWS = 4, 3
NOW_S = 100.0
SMALL_VOICE = Path(__file__).parents[4] / "worker" / "small_voice"


def request(name: str, urgency: Urgency, lead_s: float = 0.0) -> RequestState:
    ids = np.zeros(4, dtype=np.int64)
    layout = PromptLayout(ids, ids, ids[:0], 4)
    made = RequestState(name, layout, SamplingParams(), 0, 1_000, urgency=urgency, is_streamed=urgency is Urgency.LIVE)
    made.heard_until_s = NOW_S + lead_s
    return made


def stepped(plan: StepPlan | None) -> list[str]:
    assert plan is not None
    return [each.request_id for each, speaks in zip(plan.rows, plan.speaks, strict=True) if speaks]


def test_bulk_stands_still_until_the_listener_has_enough() -> None:
    scheduler, live = Scheduler(ROWS, 1, LIVE_ROWS, 100), request("live", Urgency.LIVE)
    scheduler.add(request("bulk", Urgency.BULK))
    assert stepped(scheduler.plan(NOW_S)) == ["bulk"]
    scheduler.add(live)
    scheduler.add(request("more", Urgency.BULK))

    assert stepped(scheduler.plan(NOW_S)) == ["live"]
    live.heard_until_s += LEAST_LEAD_S + 0.05
    assert stepped(scheduler.plan(NOW_S)) == ["live", "bulk", "more"]
    assert stepped(scheduler.plan(NOW_S + 0.1)) == ["live"]
    scheduler.cancel(live)
    assert sorted(stepped(scheduler.plan(NOW_S + 0.2))) == ["bulk", "more"]


def test_one_that_waits_for_its_text_holds_nobody_back() -> None:
    scheduler, live = Scheduler(ROWS, 1, LIVE_ROWS, 100), request("live", Urgency.LIVE)
    live.is_open = True
    scheduler.add(live)
    scheduler.add(request("bulk", Urgency.BULK))

    scheduler.plan(NOW_S)

    assert stepped(scheduler.plan(NOW_S)) == ["bulk"]


def test_others_have_a_turn_a_second_however_slow_the_machine_is() -> None:
    way, live = GivingWay(), request("live", Urgency.LIVE)
    times = np.arange(NOW_S, NOW_S + 10 * LONGEST_PAUSE_S, 0.01)

    turns = [now_s for now_s in times if not way.holds([live], float(now_s))]

    assert 9 <= len(turns) <= 10
    assert not way.holds([], NOW_S)


KINDS = st.sampled_from([Urgency.LIVE, Urgency.INTERACTIVE, Urgency.BULK])


@given(
    steps=st.lists(
        st.tuples(st.lists(KINDS, max_size=3), st.sets(st.integers(0, 10), max_size=3), st.booleans()), max_size=40
    )
)
def test_rows_follow_the_plan_and_live_ones_are_first(
    steps: list[tuple[list[Urgency], set[int], bool]],
) -> None:
    """device: what stands in each row, moved and filled as the runner does; it always is what the plan says."""
    scheduler, device, number = Scheduler(ROWS, 1, LIVE_ROWS, 12), dict[int, RequestState](), 0
    for now_s, (kinds, ending, has_lead) in enumerate(steps):
        for kind in kinds:
            scheduler.add(request(str(number), kind, 1_000.0 if has_lead else -1_000.0))
            number += 1
        plan = scheduler.plan(NOW_S + 0.01 * now_s)
        if plan is None:
            continue
        for move in plan.moves:
            assert move.length == device[move.source].attention_length
            device[move.target] = device[move.source]
        for admission in plan.admissions:
            device[admission.row] = admission.request

        assert [device[row] for row in range(len(plan.rows))] == list(plan.rows)
        is_live = [each.urgency is Urgency.LIVE for each in plan.rows]
        assert is_live == sorted(is_live, reverse=True)
        assert plan.num_stepped in (len(plan.rows), sum(is_live))
        ends = [RowEnd.EOS if row in ending and plan.speaks[row] else RowEnd.RUNNING for row in range(len(plan.rows))]
        scheduler.commit(plan, ends)


LONG = "A raven sat upon a branch, with a piece of cheese"


def test_speech_is_the_same_beside_live_speech_which_ends_first() -> None:
    texts = {"live": "The fox ran home.", **{f"bulk {number}": f"{LONG}, {number}." for number in range(2)}}
    engine = build_engine(NativeEngineSettings(SMALL_VOICE, slots=3))
    ended: list[str] = []

    def begin(name: str) -> Future[Speech]:
        urgency = Urgency.LIVE if name == "live" else Urgency.BULK
        asked = SpeechRequest(name, texts[name], BuiltInSpeaker("slt"), "english", urgency=urgency)
        future = engine.submit(asked, (lambda _: None) if name == "live" else None)
        future.add_done_callback(lambda _: ended.append(name))
        return future

    alone = {name: begin(name).result() for name in texts}
    ended.clear()
    futures = {name: begin(name) for name in reversed(texts)}
    beside = {name: future.result() for name, future in futures.items()}
    engine.close()

    assert ended[0] == "live"
    for name in texts:
        np.testing.assert_array_equal(beside[name].frames, alone[name].frames)
        np.testing.assert_array_equal(beside[name].pcm, alone[name].pcm)
