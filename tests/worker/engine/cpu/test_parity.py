"""Equality with the official package, from recorded fixtures (tests/parity/README.md)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.worker.engine.recorded_requests import request_of

VARIANTS = ("custom_voice", "voice_design", "base")


def assert_as_recorded(outcomes: Any, recording: Any) -> None:
    for recorded in recording.requests:
        outcome = outcomes[recorded["name"]]
        np.testing.assert_array_equal(outcome.frames, recording.arrays[f"{recorded['name']}.codes"].numpy())
        assert outcome.end.name.lower() == recorded["finish_reason"], recorded["name"]


def test_text_becomes_the_ids_of_the_official_processor(rigs: Any, recordings: Any, checkpoints: Any) -> None:
    from worker.engine.requests.text_tokenizer import TextTokenizer

    tokenizer = TextTokenizer.load(checkpoints["custom_voice"], rigs["custom_voice"].config.text_control)

    encoded = [list(tokenizer.encode(case["text"])) for case in recordings["custom_voice"].facts["bpe"]]

    assert encoded == [case["ids"] for case in recordings["custom_voice"].facts["bpe"]]


@pytest.mark.parametrize("variant", VARIANTS)
def test_prompt_rows_equal_the_recorded_ones(variant: str, rigs: Any, recordings: Any) -> None:
    rig, recording = rigs[variant], recordings[variant]

    for recorded in recording.requests:
        layout = rig.prompts.build(request_of(recorded, recording.arrays))
        with torch.inference_mode():
            prompt, trailing = rig.runner.ends.prompt_rows(layout), rig.runner.ends.trailing_rows(layout)

        name = recorded["name"]
        torch.testing.assert_close(prompt, recording.arrays[f"{name}.prompt_rows"], rtol=0, atol=1e-6)
        # Recorded are the text rows; where there are none, the pad row that ours always end with.
        expected = recording.arrays[f"{name}.trailing_rows"]
        torch.testing.assert_close(trailing[: expected.shape[0]], expected, rtol=0, atol=1e-6)
        assert trailing.shape[0] - layout.trailing_text_ids.shape[0] == 1


@pytest.mark.parametrize("variant", VARIANTS)
def test_greedy_codes_of_a_lone_request_equal_the_recorded_ones(variant: str, rigs: Any, recordings: Any) -> None:
    recording = recordings[variant]

    outcomes = rigs[variant].run_alone(request_of(recorded, recording.arrays) for recorded in recording.requests)

    assert_as_recorded(outcomes, recording)


@pytest.mark.parametrize("variant", VARIANTS)
def test_greedy_codes_of_requests_arriving_one_after_another_equal_the_recorded_ones(
    variant: str, rigs: Any, recordings: Any, arrive: Any
) -> None:
    """More requests than rows, of six lengths: they wait, join, leave and are moved between frames."""
    recording = recordings[variant]
    requests = [request_of(recorded, recording.arrays) for recorded in recording.requests]

    outcomes = rigs[variant].run([arrive(request, step=3 * n) for n, request in enumerate(requests)])

    assert_as_recorded(outcomes, recording)
