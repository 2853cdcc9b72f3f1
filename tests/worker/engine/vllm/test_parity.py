"""Frame for frame what the official package and the native engine say."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.worker.engine.recorded_requests import GREEDY, request_of
from tests.worker.engine.speech_stream import SpeechStream
from tests.worker.engine.vllm.slot_talker import SlotTalker
from worker.engine.errors import RequestCancelled
from worker.engine.interface import (
    BuiltInSpeaker,
    Engine,
    SamplingParams,
    Speech,
    SpeechRequest,
    TextMode,
    TokenSampling,
)
from worker.engine.vllm.talker_model import VllmTalker

WAIT_S = 120
ROWS_OF_A_PASS = 16
"""Far less than a prompt has: all of them are divided, and stand beside the frames of others."""


def submit(engine: Engine, requests: list[SpeechRequest]) -> list[Future[Speech]]:
    return [engine.submit(request) for request in requests]


@pytest.mark.parametrize(
    ("variant", "max_step_tokens", "talker"),
    [
        ("custom_voice", 1024, SlotTalker),
        ("custom_voice", ROWS_OF_A_PASS, VllmTalker),
        ("voice_design", ROWS_OF_A_PASS, VllmTalker),
        ("base", 24, VllmTalker),
        ("base", 24, SlotTalker),
    ],
)
def test_greedy_codes_of_eight_at_a_time_are_the_recorded_ones(
    variant: str, max_step_tokens: int, talker: type, start_vllm: Any, checkpoints: Mapping[str, Path], recordings: Any
) -> None:
    """All tasks, conditionings, languages and text modes, twice, so that rows are taken again."""
    recording = recordings[variant]
    engine = start_vllm(checkpoints[variant], max_step_tokens, talker)
    requests = [request_of(recorded, recording.arrays) for recorded in recording.requests]
    again = [replace(request, request_id=f"{request.request_id} again") for request in requests]

    spoken = [future.result(WAIT_S) for future in submit(engine, requests + again)]

    for recorded, speech in zip(recording.requests * 2, spoken, strict=True):
        np.testing.assert_array_equal(speech.frames, recording.arrays[f"{recorded['name']}.codes"].numpy())
        assert speech.finish_reason.value == recorded["finish_reason"], recorded["name"]


def test_who_is_cancelled_in_the_middle_changes_nothing_for_the_others(
    start_vllm: Any, checkpoints: Mapping[str, Path], recordings: Any
) -> None:
    recording = recordings["custom_voice"]
    engine = start_vllm(checkpoints["custom_voice"], ROWS_OF_A_PASS)
    requests = [request_of(recorded, recording.arrays) for recorded in recording.requests]
    leaving = [replace(request, request_id=f"{request.request_id} leaves", max_frames=200) for request in requests[:3]]

    streams = [SpeechStream(engine, request) for request in leaving]
    stay = submit(engine, requests)
    for request, stream in zip(leaving, streams, strict=True):
        next(iter(stream))
        engine.cancel(request.request_id)
    spoken = [future.result(WAIT_S) for future in stay]

    for recorded, speech in zip(recording.requests, spoken, strict=True):
        np.testing.assert_array_equal(speech.frames, recording.arrays[f"{recorded['name']}.codes"].numpy())
    ends = [stream.speech.exception(WAIT_S) for stream in streams]
    assert any(isinstance(end, RequestCancelled) for end in ends), "none had more to say"


def test_a_seed_draws_what_it_draws_in_the_native_engine(
    start_vllm: Any, start_native: Any, checkpoints: Mapping[str, Path]
) -> None:
    draws = (
        TokenSampling(),
        GREEDY,
        TokenSampling(temperature=1.3, top_k=0),
        TokenSampling(temperature=0.7, top_k=8),
        TokenSampling(temperature=1.0, top_k=20, top_p=0.8),
    )
    requests = [
        SpeechRequest(
            str(n),
            "the rain in the north " * (1 + n % 3),
            BuiltInSpeaker(("ryan", "eric", "serena")[n % 3]),
            text_mode=tuple(TextMode)[n % 2],
            sampling=SamplingParams(draws[n % 5], draws[(n + n // 5) % 5], (1.0, 1.05, 1.5)[n % 3]),
            seed=n * 0x1234_5678_9ABC - (1 << 62),
            max_frames=8 + n,
        )
        for n in range(15)
    ]
    expected = [future.result(WAIT_S) for future in submit(start_native(checkpoints["custom_voice"]), requests)]

    spoken = [future.result(WAIT_S) for future in submit(start_vllm(checkpoints["custom_voice"]), requests)]

    for one, other in zip(spoken, expected, strict=True):
        np.testing.assert_array_equal(one.frames, other.frames)
        np.testing.assert_array_equal(one.pcm, other.pcm)
        assert one.finish_reason is other.finish_reason
