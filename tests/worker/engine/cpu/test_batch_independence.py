"""A request's codes depend on the request alone, not on who else is in the batch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings

from tests.property_tests import examples
from tests.worker.engine.serving.schedules import Visit, schedules
from worker.engine.interface import BuiltInSpeaker, SpeechRequest
from worker.engine.requests.request_state import RowEnd


@settings(
    max_examples=examples(12),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(schedule=schedules(8))
def test_codes_are_the_same_alone_and_in_any_batch(schedule: list[Visit], rigs: Any, arrive: Any) -> None:
    rig = rigs["custom_voice"]
    named = [(replace(visit[0], request_id=str(n)), *visit[1:]) for n, visit in enumerate(schedule)]

    together = rig.run(
        [arrive(request, step, None if patience is None else step + patience) for request, step, patience in named]
    )

    alone = rig.run_alone(request for request, _, _ in named if request.request_id in together)
    kept = {request.request_id for request, _, patience in named if patience is None}
    assert kept <= together.keys()
    for request_id, outcome in together.items():
        np.testing.assert_array_equal(outcome.frames, alone[request_id].frames)
        assert outcome.end is alone[request_id].end


def test_another_seed_draws_other_codes(rigs: Any) -> None:
    one = SpeechRequest("one", "the rain in the north", BuiltInSpeaker("ryan"), max_frames=12)
    requests = [one, replace(one, request_id="same"), replace(one, request_id="other", seed=1)]

    outcomes = rigs["custom_voice"].run_alone(requests)

    np.testing.assert_array_equal(outcomes["one"].frames, outcomes["same"].frames)
    assert not np.array_equal(outcomes["one"].frames, outcomes["other"].frames)


def test_at_least_two_frames_come_out_however_likely_the_end_is(
    open_rig: Any, make_checkpoint: Any, tmp_path: Any
) -> None:
    make_checkpoint(tmp_path, "tiny", "custom_voice", 3, 1000.0)
    requests = [SpeechRequest(str(seed), "Hi.", BuiltInSpeaker("ryan"), seed=seed, max_frames=30) for seed in range(12)]

    outcomes = open_rig(tmp_path).run_alone(requests)

    lengths = [len(outcome.frames) for outcome in outcomes.values()]
    assert min(lengths) == 2
    assert all(outcome.end is RowEnd.EOS for outcome in outcomes.values())


def test_a_request_stops_after_its_last_frame_when_no_end_is_drawn(
    open_rig: Any, make_checkpoint: Any, tmp_path: Any
) -> None:
    make_checkpoint(tmp_path, "tiny", "custom_voice", 3, 0.0)
    request = SpeechRequest("one", "Hi.", BuiltInSpeaker("ryan"), max_frames=9)

    outcome = open_rig(tmp_path).run_alone([request])["one"]

    assert outcome.frames.shape == (9, 16)
    assert outcome.end is RowEnd.LENGTH
