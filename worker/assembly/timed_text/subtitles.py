"""Subtitles: what is heard when. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from rhapsode.contract.jobs.output import SubtitleFormat
from storage.audio.description import clock
from worker.assembly.narration import AssembledNarration
from worker.assembly.timed_text.cues import LABEL_END, Cue, HeardWord
from worker.assembly.timed_text.heard_sentences import narration_cues
from worker.assembly.timed_text.word_times import TimedSegment

_WEBVTT_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def subtitles(
    form: SubtitleFormat, narration: AssembledNarration, timed: Iterable[TimedSegment], *, karaoke: bool
) -> Iterator[bytes]:
    """The file in pieces. timed: one for each segment. karaoke: whether WebVTT says when each word is heard."""
    found = narration_cues(narration, timed)
    match form:
        case SubtitleFormat.SRT:
            yield from _srt(found)
        case SubtitleFormat.VTT:
            yield from _vtt(found, _sung if karaoke else _escaped_word)


def _srt(cues: Iterable[Cue]) -> Iterator[bytes]:
    for number, cue in enumerate(cues, start=1):
        yield f"{number}\n{_times(cue, ',')}\n{_shown(cue, _plain, _plain_word)}\n\n".encode()


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


def _plain(text: str) -> str:
    return text


def _plain_word(word: HeardWord, _cue: Cue) -> str:
    return word.text


def _escaped(text: str) -> str:
    return text.translate(_WEBVTT_ESCAPES)


def _escaped_word(word: HeardWord, _cue: Cue) -> str:
    return _escaped(word.text)


def _sung(word: HeardWord, cue: Cue) -> str:
    """Behind its time, which has to lie inside its cue's; the first word has that of the cue."""
    start = clock(word.span.start_s, ".")
    if not clock(cue.span.start_s, ".") < start < clock(cue.span.end_s, "."):
        return _escaped(word.text)
    return f"<{start}>{_escaped(word.text)}"
