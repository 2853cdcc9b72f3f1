"""The slots' lane and live speech: prefixes and texts that are still being written, against the rows' lane."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from worker.engine.interface import BuiltInSpeaker, CodecFrames, SpeechRequest, TextMode
from worker.engine.requests.request_state import RequestState
from worker.engine.requests.writing import Writing
from worker.engine.serving.talker_lane import MoreText, TalkerLane

CAPACITY = 256
TEXT = "Whatever is written while it is spoken is said as if it had been there from the beginning, and no other way."


@pytest.fixture(scope="module")
def rig(rigs: Mapping[str, Any]) -> Any:
    return rigs["custom_voice"]


@pytest.fixture(scope="module")
def request_(rig: Any) -> SpeechRequest:
    speaker = BuiltInSpeaker(rig.prompts.speakers[0])
    return SpeechRequest("live", TEXT, speaker, text_mode=TextMode.PER_FRAME, seed=5, max_frames=160)


def spoken(rig: Any, lane: TalkerLane, request: SpeechRequest, arrive: Callable[..., Any]) -> CodecFrames:
    return rig.run(lane, [arrive(request)])["live"].frames


@pytest.fixture(scope="module")
def whole_of_slots(rig: Any, request_: SpeechRequest, arrive: Callable[..., Any]) -> CodecFrames:
    return spoken(rig, rig.slot_lane(), request_, arrive)


@pytest.fixture(scope="module")
def whole_of_rows(rig: Any, request_: SpeechRequest, arrive: Callable[..., Any]) -> CodecFrames:
    return spoken(rig, rig.row_lane(), request_, arrive)


@pytest.mark.parametrize("length", [1, 3, 17])
def test_speech_goes_on_behind_its_prefix(
    rig: Any, request_: SpeechRequest, arrive: Callable[..., Any], whole_of_slots: CodecFrames, length: int
) -> None:
    whole = whole_of_slots
    resumed = replace(request_, prefix=whole[:length])

    for lane in (rig.slot_lane(), rig.row_lane()):
        np.testing.assert_array_equal(spoken(rig, lane, resumed, arrive), whole[length:])


@pytest.mark.parametrize("pieces", [(1,) * 60, (40, 1, 5), (3, 7) * 9])
def test_a_text_in_pieces_is_spoken_as_the_whole_of_it(
    rig: Any, request_: SpeechRequest, whole_of_rows: CodecFrames, pieces: Sequence[int]
) -> None:
    for lane in (rig.slot_lane(), rig.row_lane()):
        np.testing.assert_array_equal(written(rig, lane, request_, pieces), whole_of_rows)


def written(rig: Any, lane: TalkerLane, request: SpeechRequest, pieces: Sequence[int]) -> CodecFrames:
    """What is spoken when a piece comes whenever the lane stands still."""
    writing = Writing(rig.prompts, replace(request, text="", text_is_open=True), CAPACITY)
    state: RequestState | None = None
    start = 0
    for length in (*pieces, len(TEXT)):
        is_last = start + length >= len(TEXT)
        more = writing.push(TEXT[start : start + length], is_last=is_last)
        start += length
        if more is not None and state is None:
            assert more.prompt is not None
            state = RequestState(
                "live", more.prompt, request.sampling, request.seed, more.max_frames, is_open=not is_last
            )
            lane.add(state)
        elif more is not None and state is not None:
            lane.extend(MoreText(state, more.ids, more.max_frames, is_last=is_last))
        while lane.has_work:
            for ended in lane.step(lambda: False).ended:
                return ended.frames
        assert state is None or lane.num_standing == 1
    raise AssertionError("the speech has no end")
