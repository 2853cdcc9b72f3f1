"""Subtitles: what is heard when. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rhapsode.contract.jobs.output import SubtitleFormat
from storage.audio.description import clock
from worker.assembly.cues import LABEL_END, Cue
from worker.assembly.heard_sentences import narration_cues
from worker.assembly.narration import Narration

_WEBVTT_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def subtitles(form: SubtitleFormat, narration: Narration) -> Iterator[bytes]:
    """The file in pieces."""
    match form:
        case SubtitleFormat.SRT:
            yield from _srt(narration)
        case SubtitleFormat.VTT:
            yield from _vtt(narration)


def _srt(narration: Narration) -> Iterator[bytes]:
    for number, cue in enumerate(narration_cues(narration), start=1):
        yield f"{number}\n{_times(cue, ',')}\n{_shown(cue, _plain)}\n\n".encode()


def _vtt(narration: Narration) -> Iterator[bytes]:
    yield b"WEBVTT\n\n"
    for cue in narration_cues(narration):
        voice = f"<v {_escaped(cue.speaker)}>" if cue.speaker else ""
        yield f"{_times(cue, '.')}\n{voice}{_shown(cue, _escaped)}\n\n".encode()


def _times(cue: Cue, decimal_mark: str) -> str:
    return f"{clock(cue.span.start_s, decimal_mark)} --> {clock(cue.span.end_s, decimal_mark)}"


def _shown(cue: Cue, safe: Callable[[str], str]) -> str:
    lines = ("".join(word.space + word.text for word in line).lstrip() for line in cue.lines)
    label = f"{cue.label}{LABEL_END}" if cue.label else ""
    return safe(label + "\n".join(lines))


def _plain(text: str) -> str:
    return text


def _escaped(text: str) -> str:
    return text.translate(_WEBVTT_ESCAPES)
