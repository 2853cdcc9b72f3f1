"""Subtitles of words whose times are known: they take those times, and karaoke tells each."""

from __future__ import annotations

import itertools

import pytest

from reading.plan.plan import Plan, PlanSegment
from rhapsode.contract.jobs.output import SubtitleFormat
from storage.segments.results import SegmentResult
from storage.segments.timeline import Placed, TimeSpan
from worker.assembly.narration import AssembledNarration
from worker.assembly.timed_text.subtitles import subtitles
from worker.assembly.timed_text.word_times import TimedSegment, TimedSentence, TimedWord, shared
from worker.speech.alignment.aligner import Method
from worker.speech.alignment.words import words_of
from worker.speech.alignment.written import even_time

WRITTEN = "He said: “A <b> & c?” Then he went, and nobody knows where it was that he went to that night. Yes."
BREAKS = (22, 94)


def made(form: SubtitleFormat, *, karaoke: bool) -> str:
    """Each word begins half a second after the one before and lasts 0.4 s."""
    planned = PlanSegment(0, 0, len(WRITTEN), WRITTEN, 0.0, breaks=BREAKS)
    sentences: list[TimedSentence] = []
    at_s = 1.0
    for sentence in planned.sentences:
        words: list[TimedWord] = []
        for word in words_of(sentence.written):
            words.append(TimedWord(word, even_time(word, at_s, at_s + 0.4)))
            at_s += 0.5
        sentences.append(TimedSentence(sentence, TimeSpan(words[0].time.start_s, words[-1].time.end_s), tuple(words)))
    placed = Placed(planned, SegmentResult(0, 1, 24_000 * 13, "ab" * 32), 0, 0)
    narration = AssembledNarration(Plan((planned,)), (placed,), 24_000, (), "english")
    timed = [TimedSegment(Method.ALIGNED, tuple(sentences))]
    return b"".join(subtitles(form, narration, timed, karaoke=karaoke)).decode()


def test_cues_begin_with_their_words() -> None:
    cues = made(SubtitleFormat.VTT, karaoke=False).split("\n\n")[1:-1]

    assert cues[0].splitlines() == ["00:00:01.000 --> 00:00:03.900", "He said: “A &lt;b&gt; &amp; c?”"]
    # The seventh word of all.
    assert cues[1].startswith("00:00:04.000 --> ")
    assert not any("<" in cue for cue in cues)


def test_karaoke_says_when_each_word_but_the_first_is_heard() -> None:
    plain, sung = (made(SubtitleFormat.VTT, karaoke=karaoke) for karaoke in (False, True))
    first = sung.split("\n\n")[1].splitlines()

    assert first[1] == (
        "He <00:00:01.500>said: <00:00:02.000>“A <00:00:02.500>&lt;b&gt; <00:00:03.000>&amp; <00:00:03.500>c?”"
    )
    assert made(SubtitleFormat.SRT, karaoke=True) == made(SubtitleFormat.SRT, karaoke=False)
    assert plain.count("-->") == sung.count("-->")


@pytest.mark.parametrize("number", [1, 3])
def test_sentences_of_a_gap_share_its_time(number: int) -> None:
    text = " ".join(["Gone."] * number)
    planned = PlanSegment(0, 0, len(text), text, 0.0, breaks=tuple(6 * n for n in range(1, number)))

    spans = [each.span for each in shared(planned.sentences, TimeSpan(2.0, 5.0))]

    assert len(spans) == number
    assert (spans[0].start_s, spans[-1].end_s) == (2.0, pytest.approx(5.0))
    assert all(one.end_s == other.start_s for one, other in itertools.pairwise(spans))
