"""The plan of a narration: which stretch of the text is spoken in which segment, as JSON lines in the store.

Offsets are code points into the plan's text: the job's input where that is plain text, else the text that was
extracted from it, which lies beside the plan. The segments cover it exactly, in order, without gaps.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, cast

from reading.estimates import SYLLABIC
from reading.plan.sentences import PlanSentence, SentenceBreak, sentence_break, sentences, stretches
from reading.script.script import Mark

PLAN_FORMAT = 4

CLOSING_MARK_BYTES = 3
"""What `closed` may add to a text, in UTF-8."""

_SYLLABIC_END = re.compile(f"[{SYLLABIC}]$")


@dataclass(frozen=True, slots=True)
class PlanSegment:
    """`text` is the spoken form of the stretch [start, end): dictionaries applied, outer whitespace removed.

    written_otherwise: what people are shown of it; None is `text` itself. breaks: where its sentences begin behind the
    first; read them as `sentences`. goes_on: its last sentence does, in the next segment. speed, gain_db: factor and
    gain applied after synthesis, in addition to those of the whole. speaker: a name of the job's cast; "" is the job's
    own voice. language: "" is the job's. instructions: None are the job's. seed: None follows from the job's. chapter:
    index into the plan's chapters. source_id: what the caller calls the entry it was made from; "" if nothing.
    occurrence: how many segments before it say the same in the same voice. is_last: nothing is spoken after it. Both
    are found when the plan is read, not stored.
    """

    index: int
    start: int
    end: int
    text: str
    pause_after_s: float
    speaker: str = ""
    language: str = ""
    instructions: str | None = None
    seed: int | None = None
    chapter: int = 0
    source_id: str = ""
    written_otherwise: str | None = None
    breaks: tuple[SentenceBreak, ...] = ()
    goes_on: bool = False
    speed: float = 1.0
    gain_db: float = 0.0
    occurrence: int = field(default=0, compare=False)
    is_last: bool = field(default=False, compare=False)

    @property
    def spoken_text(self) -> str:
        """The spoken form: any run of whitespace is one space, so that the input's line width changes nothing.

        What ends here without a mark, such as a heading, gets one; a long sentence that was cut goes on.
        """
        words = " ".join(self.text.split())
        return words if self.goes_on and not self.is_last else closed(words)

    @property
    def written(self) -> str:
        """As people read it: nothing spelt out, and without page marks, labels and the like."""
        return self.text if self.written_otherwise is None else self.written_otherwise

    @property
    def sentences(self) -> tuple[PlanSentence, ...]:
        return sentences(self.start, self.end, self.text, self.written, self.breaks)

    def saying(self, instead: Mapping[int, str], spell: Callable[[str], str]) -> PlanSegment:
        """With other sentences in the places of some. What stands between two stays. spell: how a text is said."""
        spoken, written = "", ""
        breaks: list[SentenceBreak] = []
        said = stretches(self.text, self.breaks)
        for number, (sentence, stretch) in enumerate(zip(self.sentences, said, strict=True)):
            if number:
                breaks.append(sentence_break(sentence.start - self.start, len(spoken), len(written)))
            # Some scripts put no space behind a sentence.
            new = instead.get(number)
            gap = "" if new == "" else stretch[len(stretch.rstrip()) :]
            spoken += (sentence.spoken if new is None else spell(new)) + gap
            written += (sentence.written if new is None else new) + gap
        return replace(self, text=spoken.rstrip(), written_otherwise=written.rstrip(), breaks=tuple(breaks))


@dataclass(frozen=True, slots=True)
class Chapter:
    """A part of the narration with a title; it ends where the next one starts. id: how a request can name it."""

    title: str
    first_segment: int
    id: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is spoken and how it is divided.

    chapters: empty if the input has none. title, author, language, publisher, date: what the document says of
    itself; "" if nothing.
    cover_key: where the store keeps the document's cover picture; None if it has none. text_key: where it keeps the
    text that offsets refer to; None is the job's input. marks: names of moments, in order, with offsets likewise.
    """

    segments: tuple[PlanSegment, ...]
    chapters: tuple[Chapter, ...] = ()
    title: str = ""
    author: str = ""
    language: str = ""
    cover_key: str | None = None
    text_key: str | None = None
    publisher: str = ""
    date: str = ""
    marks: tuple[Mark, ...] = ()


def closed(text: str) -> str:
    """The text, with a full stop if it ends in a letter or digit: a model that reads sentences breaks off otherwise."""
    if not text or unicodedata.category(text[-1])[0] not in "LN":
        return text
    return text + ("。" if _SYLLABIC_END.search(text) else ".")


def segment_id(index: int) -> str:
    """As callers name it."""
    return f"seg_{index:06d}"


_SAID_OF_ALL = ("title", "author", "language", "cover_key", "text_key", "publisher", "date")


class PlanFormatError(ValueError):
    """The bytes are not a plan this version can read."""


def encode_plan(plan: Plan) -> bytes:
    """A head line, then one line for each segment; fields with their default are left out."""
    head: dict[str, object] = {"plan_format": PLAN_FORMAT}
    for name in _SAID_OF_ALL:
        if value := getattr(plan, name):
            head[name] = value
    if plan.chapters:
        head["chapters"] = [[chapter.title, chapter.first_segment, chapter.id] for chapter in plan.chapters]
    if plan.marks:
        head["marks"] = [[mark.name, mark.position, mark.is_end] for mark in plan.marks]
    return "".join(f"{json.dumps(line)}\n" for line in (head, *map(_line, plan.segments))).encode()


def decode_plan(data: bytes) -> Plan:
    """Raises `PlanFormatError` for anything `encode_plan` of this version did not write."""
    try:
        head, *lines = (cast("dict[str, Any]", json.loads(line)) for line in data.decode().splitlines())
        if head.get("plan_format") != PLAN_FORMAT:
            raise PlanFormatError(f"unknown plan format {head!r}")
        return Plan(
            segments=with_occurrences(_segment(line) for line in lines),
            chapters=tuple(Chapter(*chapter) for chapter in head.get("chapters", ())),
            marks=tuple(Mark(*mark) for mark in head.get("marks", ())),
            **{name: head[name] for name in _SAID_OF_ALL if name in head},
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise PlanFormatError(f"not a plan: {error}") from error


def with_occurrences(segments: Iterable[PlanSegment]) -> tuple[PlanSegment, ...]:
    """The same segments, each with its `occurrence` and `is_last`."""
    found = list(segments)
    if found:
        found[-1] = replace(found[-1], is_last=True)
    seen: Counter[tuple[str, str]] = Counter()
    counted: list[PlanSegment] = []
    for segment in found:
        said = (segment.spoken_text, segment.speaker)
        counted.append(replace(segment, occurrence=seen[said]) if seen[said] else segment)
        seen[said] += 1
    return tuple(counted)


_KEYS = {
    "index": "i",
    "start": "start",
    "end": "end",
    "text": "text",
    "pause_after_s": "pause_s",
    "speaker": "speaker",
    "language": "lang",
    "instructions": "instructions",
    "seed": "seed",
    "chapter": "chapter",
    "source_id": "id",
    "written_otherwise": "written",
    "breaks": "breaks",
    "goes_on": "goes_on",
    "speed": "speed",
    "gain_db": "gain_db",
}
"""Of a segment's fields in its line."""

_UNSAID = {field.name: (field.default, "") for field in fields(PlanSegment) if field.default is not MISSING}
"""Values of a field that its line leaves out."""


def _line(segment: PlanSegment) -> dict[str, object]:
    values = ((name, key, getattr(segment, name)) for name, key in _KEYS.items())
    return {key: value for name, key, value in values if value not in _UNSAID.get(name, ())}


def _segment(line: dict[str, Any]) -> PlanSegment:
    said = {name: line[key] for name, key in _KEYS.items() if key in line}
    said["breaks"] = tuple(each if isinstance(each, int) else tuple(each) for each in said.get("breaks", ()))
    return PlanSegment(**said)
