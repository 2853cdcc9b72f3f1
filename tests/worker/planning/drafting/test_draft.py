"""Who asks for longer segments than the model was made for gets shorter ones, and is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reading.plan.plan import decode_plan
from reading.segmenting.lengths import SegmentBounds
from rhapsode.contract.jobs.input import DocumentFormat, Normalization
from rhapsode.contract.jobs.narration import SegmentLengths
from rhapsode.contract.jobs.output import AudioFormat, Files, Output, OutputFormat
from storage.jobs.work_queues import CPU_QUEUE
from tests.worker.planning.test_languages import ENGLISH, planned_record
from tests.worker.planning.test_script_inputs import document, submit
from tests.worker.studio import Studio
from worker.errors import PermanentItemError
from worker.planning.drafting.draft import DraftRequest, draft_plan

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


def test_a_fault_of_ours_is_internal_and_names_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("words of the input")

    monkeypatch.setattr("reading.documents.by_format.text_script", fail)
    with pytest.raises(PermanentItemError) as failed:
        draft_plan(DraftRequest(document(DocumentFormat.TEXT), b"It rained."))

    assert failed.value.error.code == "internal"
    assert failed.value.error.detail.startswith("a fault of this server at ")
    assert "words" not in failed.value.error.detail


def test_a_guess_is_a_warning_of_the_job() -> None:
    text = "He said – quite softly – “yes”. The café was closed.".encode("cp1252")
    draft = draft_plan(DraftRequest(document(DocumentFormat.TEXT), text))

    assert [(each.code, each.detail) for each in draft.warnings] == [
        (
            "document_repaired",
            "read with repairs and guesses: text that is not utf-8, read as cp1252 "
            "(1, first at byte 8 of the document)",
        )
    ]


def test_more_files_than_a_job_may_have_are_refused_before_anything_is_spoken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reading.drafting.draft.MAX_CHAPTER_FILES", 2)
    book = b"# One\n\nIt rained.\n\n# Two\n\nIt rained on.\n\n# Three\n\nIt stopped.\n"
    whole = document(DocumentFormat.MARKDOWN)
    mp3 = OutputFormat(type=AudioFormat.MP3, files=Files.CHAPTERS)

    assert len(draft_plan(DraftRequest(whole, book)).plan.chapters) == 3
    with pytest.raises(PermanentItemError, match="has 3 chapters, and 2 files of a format are the most"):
        draft_plan(DraftRequest(whole.asking(output=Output(formats=(mp3,))), book))
