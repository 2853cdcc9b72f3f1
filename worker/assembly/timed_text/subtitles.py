"""Subtitles. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from reading.estimates import speech_units
from rhapsode.contract.jobs.output import SubtitleFormat
from storage.audio.description import clock
from storage.segments.timeline import Placed, TimeSpan
from worker.assembly.narration import AssembledNarration
from worker.assembly.timed_text.cues import LABEL_END, MAX_COLUMNS, Cue, HeardSentence, HeardWord, columns, cues
from worker.assembly.timed_text.word_times import TimedSegment, TimedSentence

_DASHES = "-–—"


_WEBVTT_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def subtitles(
    form: SubtitleFormat, narration: AssembledNarration, timed: Iterable[TimedSegment], *, karaoke: bool
) -> Iterator[bytes]:
    """The file in pieces. Speakers are named if there is more than one.

    timed: one for each segment. karaoke: whether WebVTT has the time of each word.
    """
    sentences = heard_sentences(narration.placed, timed, narration.language)
    speakers = {each.planned.speaker for each in narration.placed}
    found = cues(sentences, names_speakers=len(speakers) > 1)
    match form:
        case SubtitleFormat.SRT:
            yield from _srt(found)
        case SubtitleFormat.VTT:
            yield from _vtt(found, _sung if karaoke else lambda word, _: _escaped(word.text))


def _srt(found: Iterable[Cue]) -> Iterator[bytes]:
    for number, cue in enumerate(found, start=1):
        yield f"{number}\n{_times(cue, ',')}\n{_shown(cue, str, lambda word, _: word.text)}\n\n".encode()


def _vtt(found: Iterable[Cue], word: Callable[[HeardWord, Cue], str]) -> Iterator[bytes]:
    yield b"WEBVTT\n\n"
    for cue in found:
        voice = f"<v {_escaped(cue.speaker)}>" if cue.speaker else ""
        yield f"{_times(cue, '.')}\n{voice}{_shown(cue, _escaped, word)}\n\n".encode()


def _times(cue: Cue, decimal_mark: str) -> str:
    return f"{clock(cue.span.start_s, decimal_mark)} --> {clock(cue.span.end_s, decimal_mark)}"


def _shown(cue: Cue, safe: Callable[[str], str], shown: Callable[[HeardWord, Cue], str]) -> str:
    lines = ("".join(word.space + shown(word, cue) for word in line).lstrip() for line in cue.lines)
    label = safe(f"{cue.label}{LABEL_END}") if cue.label else ""
    return label + "\n".join(lines)


def _escaped(text: str) -> str:
    return text.translate(_WEBVTT_ESCAPES)


def _sung(word: HeardWord, cue: Cue) -> str:
    """Behind its time, which has to lie inside its cue's; the first word has that of the cue."""
    start = clock(word.span.start_s, ".")
    if not clock(cue.span.start_s, ".") < start < clock(cue.span.end_s, "."):
        return _escaped(word.text)
    return f"<{start}>{_escaped(word.text)}"


def heard_sentences(placed: Sequence[Placed], timed: Iterable[TimedSegment], language: str) -> Iterator[HeardSentence]:
    """timed: one for each that is placed. language: the job's, for segments without their own."""
    for each, times in zip(placed, timed, strict=True):
        sentences = [sentence for sentence in times.sentences if sentence.sentence.written]
        for number, sentence in enumerate(sentences):
            is_last = number == len(sentences) - 1
            words = heard_words(sentence.sentence.written, _heard(sentence))
            pause_s = each.planned.pause_after_s if is_last else 0.0
            said_in = (each.planned.language or language).casefold()
            yield HeardSentence(words, each.planned.speaker, said_in, pause_s)


def _heard(timed: TimedSentence) -> list[TimedStretch]:
    """Its words, or the whole of it if it has none. A quotation mark or bracket is shown with the word after it."""
    text = timed.sentence.written
    if not timed.words:
        return [TimedStretch(0, len(text), timed.span)]
    found: list[TimedStretch] = []
    end = 0
    for each in timed.words:
        start = each.word.start
        while start > end and not text[start - 1].isspace() and text[start - 1] not in _DASHES:
            start -= 1
        end = each.word.end
        found.append(TimedStretch(start, end, TimeSpan(each.time.start_s, each.time.end_s)))
    return found


_WORD = re.compile(r"\S+")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\uff66-\uff9f\U00020000-\U0003ffff]"
)
"""Thai, Lao, Burmese, Khmer, Chinese and Japanese: between any two of their characters a line can end."""


@dataclass(frozen=True, slots=True)
class TimedStretch:
    """[start, end) of a text sounds in `span`."""

    start: int
    end: int
    span: TimeSpan


def heard_words(text: str, heard: Sequence[TimedStretch]) -> tuple[HeardWord, ...]:
    """The words of a sentence, or of several. The gap between two timed stretches is shared by both.

    heard: stretches of the text in order, such as words, or the whole of it. Inside of each the time goes on evenly
    with what there is to say.
    """
    clock = _Clock(text, heard)
    words: list[HeardWord] = []
    end = 0
    for start, stop in _unbroken(text):
        space = " " if words and start > end else ""
        words.append(
            HeardWord(text[start:stop], space, TimeSpan(clock.at(start, is_end=False), clock.at(stop, is_end=True)))
        )
        end = stop
    return tuple(words)


class _Clock:
    """The time of a position of a text."""

    def __init__(self, text: str, heard: Sequence[TimedStretch]) -> None:
        self._starts = [each.start for each in heard]
        self._heard = heard
        self._text = text

    def at(self, position: int, *, is_end: bool) -> float:
        """Where a stretch begins while the one before it has just ended, `is_end` says which is meant."""
        number = max(0, int(np.searchsorted(self._starts, position, "left" if is_end else "right")) - 1)
        each = self._heard[number]
        before, whole = self._text[each.start : min(position, each.end)], self._text[each.start : each.end]
        share = speech_units(before) / max(1, speech_units(whole))
        return each.span.start_s + share * each.span.duration_s


def _unbroken(text: str) -> Iterator[tuple[int, int]]:
    """Stretches that stay on one line; what is longer than a line is cut where it is full."""
    for match in _WORD.finditer(text):
        start = match.start()
        for stop in _places(text, match.start(), match.end()):
            if stop > start:
                yield from _lines_of(text, start, stop)
            start = stop


def _places(text: str, start: int, end: int) -> Iterator[int]:
    """Where a run without spaces can be parted: around each character of a script that has none."""
    for position in range(start + 1, end):
        is_mark = unicodedata.category(text[position]) in ("Mn", "Mc", "Me")
        if not is_mark and (_UNSPACED.match(text[position - 1]) or _UNSPACED.match(text[position])):
            yield position
    yield end


def _lines_of(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    width, first = 0, start
    for position in range(start, end):
        width += columns(text[position])
        if width > MAX_COLUMNS:
            yield first, position
            width, first = columns(text[position]), position
    yield first, end
