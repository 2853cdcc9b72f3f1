"""Subtitles and timestamps: what is heard when, one cue for each segment. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from rhapsode.contract.jobs.output import SubtitleFormat
from storage.audio.description import clock
from storage.segments.timeline import Span, spoken_span
from worker.assembly.narration import Narration

TIMESTAMPS_FORMAT = 1

_WEBVTT_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_BLANK_LINES = re.compile(r"\n\s*\n")


def subtitles(form: SubtitleFormat, narration: Narration) -> Iterator[bytes]:
    """The file in pieces."""
    match form:
        case SubtitleFormat.SRT:
            yield from _srt(narration)
        case SubtitleFormat.VTT:
            yield from _vtt(narration)


def timestamps(narration: Narration) -> Iterator[bytes]:
    """A JSON document, one segment a line."""
    head = {"format": TIMESTAMPS_FORMAT, "duration_s": round(narration.duration_s, 6)}
    yield (json.dumps(head)[:-1] + ', "segments": [').encode()
    separator = "\n"
    for each in narration.placed:
        span = spoken_span(each, narration.sample_rate_hz)
        row = {
            "index": each.planned.index,
            "start_s": round(span.start_s, 6),
            "end_s": round(span.end_s, 6),
            "start": each.planned.start,
            "end": each.planned.end,
            "text": each.planned.written,
        }
        yield (separator + json.dumps(row, ensure_ascii=False)).encode()
        separator = ",\n"
    yield b"\n]}\n"


def _srt(narration: Narration) -> Iterator[bytes]:
    for number, (span, text) in enumerate(_cues(narration), start=1):
        yield f"{number}\n{_times(span, ',')}\n{text}\n\n".encode()


def _vtt(narration: Narration) -> Iterator[bytes]:
    yield b"WEBVTT\n\n"
    for span, text in _cues(narration):
        yield f"{_times(span, '.')}\n{text.translate(_WEBVTT_ESCAPES)}\n\n".encode()


def _cues(narration: Narration) -> Iterator[tuple[Span, str]]:
    """A blank line would end a cue in both formats."""
    for each in narration.placed:
        text = _BLANK_LINES.sub("\n", each.planned.written.replace("\r\n", "\n").replace("\r", "\n").strip())
        yield spoken_span(each, narration.sample_rate_hz), text


def _times(span: Span, decimal_mark: str) -> str:
    return f"{clock(span.start_s, decimal_mark)} --> {clock(span.end_s, decimal_mark)}"
