"""Which jobs are whole, and that their plan is the one that the item which plans would make."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reading.plan.plan import decode_plan
from rhapsode.contract.jobs.input import NarrationInput, SourceType
from rhapsode.contract.jobs.narration import Narration, SegmentLengths
from rhapsode.contract.jobs.output import (
    AudioFormat,
    Files,
    Loudness,
    Output,
    OutputFormat,
    SubtitleFormat,
    Timestamps,
)
from rhapsode.contract.voices.modes import CacheMode, IfCacheMissing
from storage.ids import VoiceId
from storage.jobs.whole import MOST_BYTES, may_be_whole
from storage.jobs.whole_plan import whole_plan
from storage.narration.spec import NarrationSpec
from storage.narration.voice_reference import SourceKind, VoiceReference, VoiceSource
from worker.errors import PermanentItemError
from worker.planning.drafting.draft import Draft, DraftRequest, draft_plan

SPEC = NarrationSpec(
    Narration(model="small", voice="alice", segmentation=SegmentLengths(target_chars=60, max_chars=120))
)

WORDS = st.sampled_from(
    [
        "Rain",
        "fell.",
        "Nobody",
        "came;",
        "the lamp",
        "—",
        "“Who?”",
        "\n",
        "\n\n",
        "* * *",
        "won-\nder",
        "[12]",
        "今天。",
        "7",
    ]
)
TEXTS = st.lists(WORDS, max_size=30).map(" ".join) | st.text(max_size=80)


@given(text=TEXTS)
def test_a_whole_jobs_plan_is_what_the_planning_item_would_make(text: str) -> None:
    whole, draft = whole_plan(text, SPEC), _drafted(text)

    if draft is None or len(draft.plan.segments) != 1:
        assert whole is None
        return
    assert whole is not None
    assert decode_plan(whole.document.encode()).segments == draft.plan.segments
    assert (whole.speech_ms, whole.warnings) == (draft.speech_ms, draft.warnings)


def _drafted(text: str) -> Draft | None:
    try:
        return draft_plan(DraftRequest(SPEC, text.encode()))
    except PermanentItemError:
        return None


WAV, MP3 = OutputFormat(type=AudioFormat.WAV), OutputFormat(type=AudioFormat.MP3)
RECORDING = VoiceSource(SourceKind.RECORDING, "voices/v/1.wav", "0" * 64, 10, "audio/wav")
OWN_VOICE = VoiceReference(
    VoiceId("voc_1"), "Mary", 1, "small", CacheMode.X_VECTOR, RECORDING, if_missing=IfCacheMissing.WAIT
)


@pytest.mark.parametrize(
    "changes",
    [
        {"output": Output(formats=(MP3,))},
        {"output": Output(formats=(WAV, MP3))},
        {"output": Output(formats=(OutputFormat(type=AudioFormat.WAV, files=Files.CHAPTERS),))},
        {"output": Output(loudness=Loudness())},
        {"output": Output(speed=1.5)},
        {"output": Output(timestamps=Timestamps.SEGMENT)},
        {"output": Output(subtitles=(SubtitleFormat.SRT,))},
        {"output": Output(cover="upl_1")},
        {"input": NarrationInput(type=SourceType.SSML)},
        {"input": NarrationInput(type=SourceType.SEGMENTS)},
        {"pronunciation_dictionaries": ("dct_1/1",)},
        {"validate_only": True},
    ],
    ids=str,
)
def test_what_needs_more_than_a_moment_is_no_whole_job(changes: dict[str, Any]) -> None:
    assert may_be_whole(10, SPEC)
    assert not may_be_whole(10, SPEC.asking(**changes))


def test_no_place_of_an_engine_is_held_while_a_voice_is_prepared() -> None:
    assert not may_be_whole(10, replace(SPEC, own_voice=OWN_VOICE))


def test_a_text_that_is_long_to_read_is_not_read_at_the_door() -> None:
    assert may_be_whole(MOST_BYTES, SPEC)
    assert not may_be_whole(MOST_BYTES + 1, SPEC)
    assert whole_plan("a " * MOST_BYTES, SPEC) is None
