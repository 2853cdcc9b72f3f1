"""Who asks for longer segments than the model was made for gets shorter ones, and is told."""

from __future__ import annotations

from dataclasses import replace

from rhapsode.contract.jobs.input import Normalization
from rhapsode.contract.jobs.narration import SegmentLengths
from storage.jobs.work_queues import CPU_QUEUE
from storage.narration.spec import SegmentBounds
from storage.segments.plan import decode_plan
from tests.worker.planning.test_languages import ENGLISH, planned_record
from tests.worker.planning.test_script_inputs import submit
from tests.worker.studio import Studio

TEXT = (
    "It rained from the first day to the last; nobody minded, since there was a stove, and there were books enough for "
    "a year, and in the evening somebody always knew a story that the others had not heard."
)


def test_the_lengths_that_were_asked_for_are_named(studio: Studio) -> None:
    shortened = ENGLISH.asking(segmentation=SegmentLengths(target_chars=100, max_chars=120))
    record = planned_record(studio, TEXT.encode(), replace(shortened, bounds=SegmentBounds(asked_chars=400)))

    assert [(each.code, each.detail) for each in record.warnings] == [
        (
            "segments_shortened",
            "segments of up to 400 characters were asked for, and fake speaks at most 120: longer sentences are cut "
            "at their clauses",
        )
    ]


def test_what_is_spoken_counts_and_not_what_is_written(studio: Studio) -> None:
    """Seventy characters of years, which are three times as many in words."""
    years = f"They met in {', '.join(str(year) for year in range(1867, 1997, 13))} and then never again."
    spec = ENGLISH.asking(
        segmentation=SegmentLengths(target_chars=100, max_chars=120),
        language="english",
        normalization=Normalization.BASIC,
    )
    job = submit(studio, years.encode(), spec)
    studio.run_one(CPU_QUEUE)

    plan_key = studio.record(job).plan_key
    assert plan_key is not None
    plan = decode_plan(studio.artifacts.get(plan_key))
    assert len(years) <= 120
    assert len(plan.segments) > 1
    assert all(len(segment.spoken_text) <= 120 for segment in plan.segments)
