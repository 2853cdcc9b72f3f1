"""Subtitles. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from rhapsode.contract.jobs.output import SubtitleFormat
from storage.audio.description import clock
from storage.segments.timeline import Placed, TimeSpan
from worker.assembly.narration import AssembledNarration
from worker.assembly.timed_text.cues import LABEL_END, Cue, HeardSentence, HeardWord, cues
from worker.assembly.timed_text.heard_words import TimedStretch, heard_words
from worker.assembly.timed_text.word_times import TimedSegment, TimedSentence

_DASHES = "-–—"


_WEBVTT_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def subtitles(
    form: SubtitleFormat, narration: AssembledNarration, timed: Iterable[TimedSegment], *, karaoke: bool
) -> Iterator[bytes]:
    """The file in pieces. timed: one for each segment. karaoke: whether WebVTT has the time of each word."""
    found = narration_cues(narration, timed)
    match form:
        case SubtitleFormat.SRT:
            yield from _srt(found)
        case SubtitleFormat.VTT:
            yield from _vtt(found, _sung if karaoke else lambda word, _: _escaped(word.text))


def _srt(cues: Iterable[Cue]) -> Iterator[bytes]:
    for number, cue in enumerate(cues, start=1):
        yield f"{number}\n{_times(cue, ',')}\n{_shown(cue, str, lambda word, _: word.text)}\n\n".encode()


def _vtt(cues: Iterable[Cue], word: Callable[[HeardWord, Cue], str]) -> Iterator[bytes]:
    yield b"WEBVTT\n\n"
    for cue in cues:
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


def narration_cues(narration: AssembledNarration, timed: Iterable[TimedSegment]) -> Iterator[Cue]:
    """Speakers are named if there is more than one."""
    speakers = {each.planned.speaker for each in narration.placed}
    sentences = heard_sentences(narration.placed, timed, narration.language)
    return cues(sentences, names_speakers=len(speakers) > 1)


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
