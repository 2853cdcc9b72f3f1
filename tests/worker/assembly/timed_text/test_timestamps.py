from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from reading.plan.plan import Plan, PlanSegment
from rhapsode.contract.jobs.output import Timestamps
from storage.segments.results import SegmentResult
from storage.segments.timeline import Placed, TimeSpan
from worker.assembly.narration import AssembledNarration
from worker.assembly.timed_text.timestamps import timestamps
from worker.assembly.timed_text.word_times import TimedSegment, TimedSentence, TimedWord
from worker.speech.alignment.aligner import Method
from worker.speech.alignment.words import words_of
from worker.speech.alignment.written import even_time

SOURCE = "“Hi  there.” In 1984 we [p. 3] left."
SPOKEN = "“Hi there.” In nineteen eighty four we left."
WRITTEN = "“Hi there.” In 1984 we left."
PLANNED = PlanSegment(0, 0, len(SOURCE), SPOKEN, 0.0, written_otherwise=WRITTEN, breaks=((13, 12, 12),))


def rows(level: Timestamps, planned: PlanSegment = PLANNED, source: str = SOURCE) -> dict[str, Any]:
    """Every word takes a second, and between two is one of silence."""
    placed = Placed(planned, SegmentResult(0, 1, 240_000, "ab" * 32), 0, 0)
    narration = AssembledNarration(Plan((planned,)), (placed,), 24_000, ())
    timed: Sequence[TimedSegment] = ()
    if level is not Timestamps.SEGMENT:
        timed = (TimedSegment(Method.ALIGNED, tuple(sentences(planned))),)
    document = json.loads(b"".join(timestamps(level, narration, timed, source)))
    assert document["format"] == 3
    assert document["level"] == level
    (row,) = document["segments"]
    return row


def sentences(planned: PlanSegment) -> Sequence[TimedSentence]:
    found: list[TimedSentence] = []
    at = 1
    for sentence in planned.sentences:
        words = list(words_of(sentence.written))
        timed = [TimedWord(word, even_time(word, at + 2 * n, at + 2 * n + 1)) for n, word in enumerate(words)]
        found.append(TimedSentence(sentence, TimeSpan(at, at + 2 * len(words) - 1), tuple(timed)))
        at += 2 * len(words)
    return found


def test_a_segment_has_its_place_alone() -> None:
    row = rows(Timestamps.SEGMENT)

    assert row == {"index": 0, "start_s": 0.03, "end_s": 9.97, "start": 0, "end": len(SOURCE), "text": WRITTEN}


def test_sentences_and_words_have_times_and_places_in_the_source() -> None:
    assert "words" not in rows(Timestamps.SENTENCE)["sentences"][0]
    row = rows(Timestamps.WORD)

    assert row["method"] == "aligned"
    first, second = row["sentences"]
    assert (first["text"], first["start_s"], first["end_s"]) == ("“Hi there.”", 1, 4)
    assert SOURCE[second["start"] : second["end"]] == "In 1984 we [p. 3] left."
    assert [word["text"] for word in second["words"]] == ["In", "1984", "we", "left"]
    assert [word["start_s"] for word in second["words"]] == [5, 7, 9, 11]
    for word in (*first["words"], *second["words"]):
        assert SOURCE[word["start"] : word["end"]] == word["text"]
    assert "alignment" not in row


def test_a_word_of_an_edit_has_no_place_in_the_source() -> None:
    row = rows(Timestamps.WORD, replace(PLANNED, text="Otherwise there.", written_otherwise=None, breaks=()))

    words = row["sentences"][0]["words"]
    assert [(word["text"], word["start"]) for word in words] == [("Otherwise", None), ("there", 5)]


@pytest.mark.parametrize("written", [WRITTEN, "春が来た。", "one", "—a—", "a  b"])
def test_characters_are_three_arrays_without_a_hole(written: str) -> None:
    planned = PLANNED if written == WRITTEN else PlanSegment(0, 0, len(written), written, 0.0)

    row = rows(Timestamps.CHARACTER, planned)

    alignment = row["alignment"]
    starts, ends = alignment["character_start_times_seconds"], alignment["character_end_times_seconds"]
    assert "".join(alignment["characters"]) == written
    assert len(starts) == len(ends) == len(written)
    assert starts[1:] == ends[:-1]
    assert [*starts, ends[-1]] == sorted([*starts, ends[-1]])
    for sentence in row["sentences"]:
        for word in sentence["words"]:
            assert word["start_s"] in starts
    if written == WRITTEN:
        assert starts[written.index("1984")] == 7
        assert ends[written.index("1984") + 3 :][:2] == [8, 9], "the space has the silence behind the word"


def test_a_gap_shares_its_time_among_its_characters() -> None:
    planned = PlanSegment(0, 0, 4, "Gone", 0.0)
    placed = Placed(planned, SegmentResult(0, 1, 48_000, "ab" * 32), 0, 0)
    gap = TimedSegment(None, (TimedSentence(planned.sentences[0], TimeSpan(0.0, 2.0), ()),))
    narration = AssembledNarration(Plan((planned,)), (placed,), 24_000, ())

    (row,) = json.loads(b"".join(timestamps(Timestamps.CHARACTER, narration, (gap,), "Gone")))["segments"]

    assert row["method"] is None
    assert row["alignment"]["character_start_times_seconds"] == [0, 0.5, 1, 1.5]
