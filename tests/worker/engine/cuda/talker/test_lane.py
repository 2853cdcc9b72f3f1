"""Frames launched ahead over slots say what rows on the CPU say, whatever comes and goes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from tests.property_tests import examples
from tests.worker.engine.serving.schedules import TEXTS, Visit, schedules
from tests.worker.engine.serving.sick_tokens import make_token_sick
from worker.engine.interface import (
    BuiltInSpeaker,
    DesignedVoice,
    InContextPrompt,
    SpeechRequest,
    TextMode,
    XVectorPrompt,
)
from worker.engine.profiles import EngineReproducibility
from worker.engine.requests.request_state import RowEnd


@settings(
    max_examples=examples(10),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(schedule=schedules(9))
def test_every_request_has_the_codes_it_has_alone_on_the_cpu(schedule: list[Visit], rigs: Any, arrive: Any) -> None:
    rig = rigs["custom_voice"]
    named = [(replace(visit[0], request_id=str(n)), *visit[1:]) for n, visit in enumerate(schedule)]

    outcomes = rig.run(
        rig.slot_lane(),
        [arrive(request, step, None if patience is None else step + patience) for request, step, patience in named],
    )

    assert {request.request_id for request, _, patience in named if patience is None} <= outcomes.keys()
    for request, _, _ in named:
        if request.request_id in outcomes:
            expected = rig.run(rig.row_lane(), [arrive(request)])[request.request_id]
            np.testing.assert_array_equal(outcomes[request.request_id].frames, expected.frames)
            assert outcomes[request.request_id].end is expected.end


@pytest.mark.parametrize("lane", ["row_lane", "slot_lane"])
def test_streamed_requests_hand_on_what_they_say(lane: str, rigs: Any, arrive: Any) -> None:
    rig = rigs["custom_voice"]
    together = [
        SpeechRequest(str(n), TEXTS[n % 4], BuiltInSpeaker("ryan"), seed=n, max_frames=3 + 4 * n) for n in range(6)
    ]
    arrivals = [arrive(request, n, 9 if n == 5 else None, n != 2) for n, request in enumerate(together)]

    outcomes = rig.run(getattr(rig, lane)(), arrivals)

    for n, request in enumerate(together[:5]):
        outcome, expected = outcomes[str(n)], rig.run(rig.row_lane(), [arrive(request)])[str(n)]
        np.testing.assert_array_equal(outcome.frames, expected.frames)
        lengths = [len(part) for part in outcome.parts]
        assert lengths == ([] if n == 2 else [1, 1, 2, 4, 4, 4][: len(lengths)])
        if lengths:
            np.testing.assert_array_equal(np.concatenate(outcome.parts), expected.frames[: sum(lengths)])
            assert len(expected.frames) - sum(lengths) <= 4
    assert "5" not in outcomes


def test_every_kind_of_voice_is_prefilled_as_on_the_cpu(rigs: Any, arrive: Any) -> None:
    generator = np.random.default_rng(4)
    width = rigs["base"].config.talker.transformer.hidden_size
    embedding = generator.standard_normal(width).astype(np.float32)
    ref_code = generator.integers(0, 64, (7, 16)).astype(np.int16)
    voices = {
        "custom_voice": [BuiltInSpeaker("ryan")],
        "voice_design": [DesignedVoice("an old man with a deep voice"), DesignedVoice("")],
        "base": [XVectorPrompt(embedding), InContextPrompt(embedding, ref_code, "what was said")],
    }
    for variant, conditionings in voices.items():
        rig = rigs[variant]
        together = [
            SpeechRequest(f"{n} {mode}", "the rain in the north", conditioning, text_mode=mode, max_frames=6)
            for n, conditioning in enumerate(conditionings)
            for mode in TextMode
        ]

        outcomes = rig.run(rig.slot_lane(EngineReproducibility.BEST_EFFORT), [arrive(request) for request in together])

        for request in together:
            expected = rig.run(rig.row_lane(), [arrive(request)])[request.request_id]
            np.testing.assert_array_equal(outcomes[request.request_id].frames, expected.frames)


def test_eight_bits_are_the_same_alone_and_in_company_and_other_codes_than_float32(rigs: Any, arrive: Any) -> None:
    rig = rigs["custom_voice"]
    requests = [
        SpeechRequest(str(n), TEXTS[n % 4], BuiltInSpeaker("ryan"), seed=n, max_frames=6 + 3 * n) for n in range(5)
    ]
    arrivals = [arrive(request, n) for n, request in enumerate(requests)]

    together, exact = rig.run(rig.float8_lane(), arrivals), rig.run(rig.slot_lane(), arrivals)

    for request in requests:
        name = request.request_id
        alone = rig.run(rig.float8_lane(), [arrive(request)])[name]
        np.testing.assert_array_equal(together[name].frames, alone.frames)
    assert any(not np.array_equal(together[name].frames, exact[name].frames) for name in together)


def test_a_sick_row_fails_alone_and_leaves_nothing_in_its_slot(
    open_rig: Any, make_checkpoint: Any, arrive: Any, tmp_path: Path
) -> None:
    make_checkpoint(tmp_path, "tiny", "custom_voice", 3, 1.0)
    healthy = [
        SpeechRequest(str(n), "the rain in the north", BuiltInSpeaker("ryan"), seed=n, max_frames=12) for n in range(6)
    ]
    rig = open_rig(tmp_path)
    expected = rig.run(rig.row_lane(), [arrive(request) for request in healthy])
    make_token_sick(tmp_path, rig.prompts._tokenizer.encode("~")[0])
    sick_rig = open_rig(tmp_path)
    sick = SpeechRequest("sick", "the ~ in the north", BuiltInSpeaker("ryan"), max_frames=12)

    outcomes = sick_rig.run(
        sick_rig.slot_lane(), [arrive(sick), *[arrive(request, step=n) for n, request in enumerate(healthy)]]
    )

    assert outcomes["sick"].end is RowEnd.NON_FINITE
    for request in healthy:
        np.testing.assert_array_equal(outcomes[request.request_id].frames, expected[request.request_id].frames)
