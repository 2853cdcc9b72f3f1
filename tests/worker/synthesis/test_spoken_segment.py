"""Plan, cast and edit decide together what a segment says, in whose voice and from which seed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reading.plan.plan import PlanSegment
from rhapsode.contract.jobs.narration import Narration
from storage.ids import JobId, TenantId
from storage.jobs.work_items import ClaimedItem, Lease
from storage.narration.cast import SpeakerVoice
from storage.narration.spec import NarrationSpec
from storage.segments.edited import edited
from storage.segments.edits import SegmentEdit
from worker.errors import PermanentItemError
from worker.synthesis.spoken_segment import segment_seed, spoken_segment

CAST = (SpeakerVoice("BOB", "tom"),)
SPEC = NarrationSpec(Narration(model="m", voice="ada", language="english", instructions="softly", seed=5), cast=CAST)
ITEM = ClaimedItem(Lease(JobId("job_1"), TenantId("t"), "2", 9), 1, 0, SPEC, "in", "plan", None)
PLANNED = PlanSegment(2, 10, 30, "Two\n  words.", 0.25)


def test_what_the_plan_leaves_open_is_as_the_job_has_it() -> None:
    segment = spoken_segment(ITEM, PLANNED)

    assert (segment.text, segment.num_chars, segment.voice, segment.speaker) == ("Two words.", 20, "ada", "")
    assert (segment.language, segment.instructions, segment.take) == ("english", "softly", 1)


def test_the_plan_may_give_a_segment_another_speaker_language_and_manner() -> None:
    planned = replace(PLANNED, speaker="BOB", language="german", instructions="")

    segment = spoken_segment(ITEM, planned)

    assert (segment.voice, segment.speaker, segment.language, segment.instructions) == ("tom", "BOB", "german", "")


def test_an_edit_stands_over_the_plan() -> None:
    edit = SegmentEdit(text="Three\nother words.", speaker="BOB", language="german", instructions="loudly", seed=9)

    segment = spoken_segment(replace(ITEM, edit=edit, take=3), edited(PLANNED, edit))

    assert (segment.text, segment.voice, segment.language) == ("Three other words.", "tom", "german")
    assert (segment.instructions, segment.seed(SPEC.request.seed, 1), segment.take) == ("loudly", 9, 3)


def test_an_edit_can_give_a_segment_back_to_the_job_s_own_voice() -> None:
    edit = SegmentEdit(speaker="")

    segment = spoken_segment(replace(ITEM, edit=edit), edited(replace(PLANNED, speaker="BOB"), edit))

    assert (segment.voice, segment.speaker) == ("ada", "")


def test_a_speaker_whom_the_cast_does_not_have_fails_the_job_by_name() -> None:
    with pytest.raises(PermanentItemError, match="EVE"):
        spoken_segment(ITEM, replace(PLANNED, speaker="EVE"))


def test_segment_seeds_never_change() -> None:
    """Recorded: another value would give every narration another sound at the next release."""
    assert [segment_seed(0, "a"), segment_seed(0, "a", 1), segment_seed(7, "a"), segment_seed(0, "a", 0, 2, 3)] == [
        2016832198404548,
        4740910270963088,
        3299071508573813,
        2968733179504109,
    ]


def test_a_seed_of_its_own_is_used_as_it_is_and_only_once() -> None:
    segment = spoken_segment(ITEM, replace(PLANNED, seed=77))

    assert segment.seed(SPEC.request.seed, 1) == 77
    assert segment.seed(SPEC.request.seed, 2) not in (77, segment.seed(SPEC.request.seed, 3))


def test_another_take_of_a_segment_with_a_seed_has_another_one() -> None:
    planned = replace(PLANNED, seed=9)

    seeds = [spoken_segment(replace(ITEM, take=take), planned).seed(SPEC.request.seed, 1) for take in (1, 2, 3)]

    assert seeds[0] == 9
    assert len(set(seeds)) == 3


@given(st.integers(0, 2**53 - 1), st.text(max_size=20), st.integers(0, 99), st.integers(1, 20), st.integers(1, 10))
def test_seeds_are_exact_in_json_and_another_for_every_take_and_attempt(
    seed: int, text: str, occurrence: int, take: int, attempt: int
) -> None:
    own = segment_seed(seed, text, occurrence, take, attempt)

    assert 0 <= own < 2**53
    others = [(occurrence + 1, take, attempt), (occurrence, take + 1, attempt), (occurrence, take, attempt + 1)]
    assert own not in [segment_seed(seed, text, *other) for other in others]
