"""Cues: what a reader sees when."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.segments.timeline import TimeSpan
from worker.assembly.timed_text.cues import LEAST_CUE_S, MAX_COLUMNS, MAX_CUE_S, Cue, HeardSentence, columns, cues
from worker.assembly.timed_text.subtitles import TimedStretch, heard_words

UNITS_PER_S = 15.0

PROSE = (
    "An invitation to dinner was soon afterwards dispatched; and already had Mrs. Bennet planned the courses that were "
    "to do credit to her housekeeping, when an answer arrived which deferred it all."
)
JAPANESE = (
    "親譲りの無鉄砲で小供の時から損ばかりしている。"
    "小学校に居る時分学校の二階から飛び降りて一週間ほど腰を抜かした事がある。"
)


def said(text: str, start_s: float = 0.0, *, speaker: str = "", pause_s: float = 0.4) -> HeardSentence:
    """A sentence at an even pace."""
    span = TimeSpan(start_s, start_s + columns(text) / UNITS_PER_S)
    return HeardSentence(heard_words(text, [TimedStretch(0, len(text), span)]), speaker, "english", pause_s)


def lines_of(cue: Cue) -> list[str]:
    return ["".join(word.space + word.text for word in line).lstrip() for line in cue.lines]


def shown(*sentences: HeardSentence, names_speakers: bool = False) -> list[list[str]]:
    return [lines_of(cue) for cue in cues(sentences, names_speakers=names_speakers)]


def one_after_another(*texts: str, speakers: tuple[str, ...] = ()) -> list[HeardSentence]:
    sentences: list[HeardSentence] = []
    start_s = 0.0
    for number, text in enumerate(texts):
        sentences.append(said(text, start_s, speaker=speakers[number] if speakers else ""))
        start_s = sentences[-1].words[-1].span.end_s + 0.4
    return sentences


def test_a_long_sentence_is_cut_at_its_clauses() -> None:
    assert shown(said(PROSE)) == [
        ["An invitation to dinner", "was soon afterwards dispatched;"],
        ["and already had Mrs. Bennet planned", "the courses that were to do credit"],
        ["to her housekeeping, when an answer", "arrived which deferred it all."],
    ]


def test_no_line_ends_behind_a_title_or_an_article() -> None:
    text = "She had gone to see whether the old Mr. Bingley, who lived at the end of the lane, had been told of it."
    ends = [line.split()[-1] for cue in shown(said(text)) for line in cue]
    assert not {"Mr.", "the", "of", "at"} & set(ends)


def test_short_sentences_share_a_cue_and_long_ones_do_not() -> None:
    assert shown(*one_after_another("No.", "Never.", "I said so."))[0] == ["No. Never. I said so."]
    assert len(shown(*one_after_another("He has gone home to his wife.", "She has gone to the market."))) == 2


def test_what_a_paragraph_parts_no_cue_joins() -> None:
    first, second = one_after_another("No.", "Never.")
    apart = said("No.", pause_s=0.8)
    assert shown(first, second) == [["No. Never."]]
    assert shown(apart, second) == [["No."], ["Never."]]


def test_speakers_are_named_where_another_one_begins() -> None:
    texts = (
        "Where have you been all this long day?",
        "In the garden, as I told you before.",
        "I did not hear it said.",
    )
    sentences = one_after_another(*texts, speakers=("Mary", "Tom", "Tom"))
    found = list(cues(sentences, names_speakers=True))
    assert [(cue.speaker, cue.label) for cue in found] == [("Mary", "Mary"), ("Tom", "Tom"), ("Tom", "")]
    assert not any(cue.label for cue in cues(sentences, names_speakers=False))


def test_a_name_takes_room_in_its_line() -> None:
    name = "The Ghost of Christmas Past"
    sentences = [said("Rise and walk with me now.", speaker=name)]
    cue = next(cues(sentences, names_speakers=True))
    assert all(columns(line) + len(name) + 2 <= MAX_COLUMNS for line in lines_of(cue)[:1])


def test_a_cue_stays_until_it_is_read_but_never_over_the_next() -> None:
    alone = [said("Ah.", 3.0, pause_s=1.0)]
    assert next(cues(alone, names_speakers=False)).span == TimeSpan(3.0, 3.0 + LEAST_CUE_S)
    close = [said("Ah.", 3.0, pause_s=1.0), said("What a day that was, said the old man at last.", 3.5)]
    first, second = cues(close, names_speakers=False)
    assert 3.2 <= first.span.end_s < second.span.start_s == 3.5


def test_chinese_and_japanese_lines_end_between_characters() -> None:
    sentences = one_after_another(*(f"{part}。" for part in JAPANESE.split("。") if part))
    found = shown(*sentences)
    assert "".join(line for cue in found for line in cue) == JAPANESE
    assert all(columns(line) <= MAX_COLUMNS for cue in found for line in cue)
    assert not any(line[0] in "、。っ" for cue in found for line in cue)


def test_a_word_that_is_longer_than_a_line_is_cut() -> None:
    address = "https://example.org/" + "a" * 200
    assert all(columns(line) <= MAX_COLUMNS for cue in shown(said(f"See {address} for more.")) for line in cue)


WORDS = st.text("abcdefghij.,;’—", min_size=1, max_size=60) | st.sampled_from(["the", "of", "Mr.", "日本語です", "I"])


@given(
    st.lists(
        st.tuples(
            st.lists(WORDS, min_size=1, max_size=40),
            st.sampled_from(["", "Mary", "Tom"]),
            st.sampled_from([0.0, 0.4, 0.8]),
            st.sampled_from([3.0, 15.0, 40.0]),
        ),
        max_size=8,
    )
)
def test_every_word_is_shown_once_in_bounds(
    spoken: list[tuple[list[str], str, float, float]],
) -> None:
    start_s, sentences = 0.0, list[HeardSentence]()
    for words, speaker, pause_s, pace in spoken:
        text = " ".join(words)
        span = TimeSpan(start_s, start_s + len(text) / pace)
        sentences.append(
            HeardSentence(heard_words(text, [TimedStretch(0, len(text), span)]), speaker, "english", pause_s)
        )
        start_s = span.end_s + pause_s
    found = list(cues(sentences, names_speakers=True))
    wanted = [word.text for sentence in sentences for word in sentence.words]
    assert [word.text for cue in found for line in cue.lines for word in line] == wanted
    for cue in found:
        labels = [cue.label + ": " if cue.label else "", ""]
        shown_lines = lines_of(cue)
        assert len(shown_lines) <= 2
        for label, line in zip(labels, shown_lines, strict=False):
            assert columns(label + line) <= MAX_COLUMNS or (label and " " not in line)
        heard = [word for line in cue.lines for word in line]
        assert cue.span.duration_s <= MAX_CUE_S + 1e-6 or len(heard) == 1
    assert all(cue.span.end_s <= later.span.start_s + 1e-9 for cue, later in pairwise(found))


@pytest.mark.parametrize(("text", "width"), [("abc", 3), ("日本", 4), ("e\u0301", 1), ("한글", 4)])
def test_columns(text: str, width: int) -> None:
    assert columns(text) == width
