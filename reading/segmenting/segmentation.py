"""Cut a script into segments of a few seconds of speech. Pure: script in, plan out.

Paragraphs end at blank lines and where a block of the script ends. A sentence is a segment, or sentences are packed
towards a target length, never across paragraphs, voices or explicit pauses; headings stay by themselves. How sentences
are found is in `sentences`, how those that are too long are cut in `cutting`, and what happens to a paragraph
of a word or two in `stretches`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from reading.plan.plan import Chapter, PlanSegment
from reading.plan.sentences import SentenceBreak, sentence_break
from reading.script.script import BlockKind, Script, ScriptChapter, VoicedSpan, plain_script
from reading.segmenting.cutting import capped, packed
from reading.segmenting.lengths import LengthRules
from reading.segmenting.opening import opened
from reading.segmenting.pieces import Piece, StretchEnd
from reading.segmenting.sentences import sentences
from reading.segmenting.stretches import Stretch, join_short
from reading.spelling.normalizers import NORMALIZERS
from reading.spelling.respelling import respelt
from reading.spelling.spoken import SpokenText, written_text
from rhapsode.contract.jobs.input import Pauses, SegmentationMode
from rhapsode.contract.words import is_speakable

_BLANK_LINE = re.compile(r"\n[^\S\n]*\n\s*|\u2029\s*")
_SENTENCE_ENDED = re.compile(r"[.!?…。！？｡:;：；][\"'”’»」』）)\]]*\s*$")


class NothingToSpeak(ValueError):
    """The text has no letter and no digit."""


@dataclass(frozen=True, slots=True)
class SegmentedScript:
    segments: tuple[PlanSegment, ...]
    chapters: tuple[Chapter, ...]


def plan_segments(text: str, segmentation: LengthRules, pauses: Pauses) -> tuple[PlanSegment, ...]:
    """The segments of a plain text; see `segment_script`."""
    return segment_script(plain_script(text), segmentation, pauses).segments


def segment_script(script: Script, segmentation: LengthRules, pauses: Pauses) -> SegmentedScript:
    """The segments of a script, covering its text exactly and in order.

    A stretch without anything to speak (`* * *`, a row of dashes) belongs to a neighbour's range but not to
    what the neighbour speaks. Raises `NothingToSpeak` if that is the whole text.
    """
    chapter_starts = [chapter.start for chapter in script.chapters]
    spoken = join_short(_stretches(script, segmentation, pauses), segmentation, chapter_starts)
    stretches = _absorb_unspeakable(spoken)
    if not stretches:
        raise NothingToSpeak("the text has no letter and no digit")
    chapters = _chapters(script, [each.first for each in stretches])
    starts = {chapter.first_segment for chapter in chapters}
    return SegmentedScript(tuple(_planned(stretches, written_text(script), starts, pauses)), chapters)


def spoken_segments(text: str, lengths: LengthRules, language: str = "") -> list[str]:
    """What is said of a plain text, segment by segment. language: whose numbers and signs become words."""
    script = plain_script(text)
    if language in NORMALIZERS:
        script = respelt(script, NORMALIZERS[language])
    return [" ".join(one.text.split()) for one in segment_script(script, lengths, Pauses()).segments]


def _planned(
    stretches: Sequence[Stretch], shown: SpokenText, chapter_starts: set[int], pauses: Pauses
) -> Iterator[PlanSegment]:
    chapter = -1
    for index, each in enumerate(stretches):
        chapter += index in chapter_starts
        pause_s = max(each.pause_s, pauses.chapter_s) if index + 1 in chapter_starts else each.pause_s
        if index + 1 == len(stretches):
            # Nothing follows that it would keep apart.
            pause_s = 0.0
        written, breaks = _written(each, shown)
        yield PlanSegment(
            index=index,
            start=each.start,
            end=each.end,
            text=each.spoken,
            pause_after_s=pause_s if each.explicit_s is None else each.explicit_s,
            speaker=each.voicing.speaker,
            language=each.voicing.language,
            instructions=each.voicing.instructions,
            seed=each.voicing.seed,
            chapter=max(0, chapter),
            source_id=each.voicing.source_id,
            written_otherwise=written if written != each.spoken else None,
            breaks=breaks,
            goes_on=each.ending is StretchEnd.CUT and not each.explicit_s,
            speed=each.voicing.speed,
            gain_db=each.voicing.gain_db,
        )


def _written(each: Stretch, shown: SpokenText) -> tuple[str, tuple[SentenceBreak, ...]]:
    """What people are shown of the stretch, and where its sentences begin in that as well."""
    start, end = shown.from_source(each.start), shown.from_source(each.end)
    stretch = shown.text[start:end]
    first = start + len(stretch) - len(stretch.lstrip())
    breaks = (
        sentence_break(source - each.start, said, max(0, shown.from_source(source) - first))
        for source, said in each.breaks
    )
    return _without_silent_end(stretch).strip() or each.spoken, tuple(breaks)


def _without_silent_end(stretch: str) -> str:
    """Without paragraphs in which there is nothing to speak, such as three stars."""
    last = next((place for place in range(len(stretch) - 1, -1, -1) if is_speakable(stretch[place])), 0)
    end = _BLANK_LINE.search(stretch, last)
    return stretch[: end.start()] if end else stretch


def _stretches(script: Script, segmentation: LengthRules, pauses: Pauses) -> Iterator[Stretch]:
    spoken = SpokenText(script.text, script.replacements)
    seconds = {
        StretchEnd.CUT: pauses.cut_s,
        StretchEnd.LINE: pauses.line_s,
        StretchEnd.SENTENCE: pauses.sentence_s,
        StretchEnd.PARAGRAPH: pauses.paragraph_s,
        StretchEnd.ENTRY: pauses.paragraph_s,
        StretchEnd.HEADING: pauses.heading_s,
    }
    opening = segmentation.opening_chars
    for block in script.blocks:
        for span in block.spans:
            ending = StretchEnd(block.kind.value) if span.end == block.end else None
            # A caller's own entries stay what they are.
            wanted = replace(segmentation, opening_chars=0 if block.kind is BlockKind.ENTRY else opening)
            pieces = _span_pieces(spoken, span, ending, wanted)
            if opening and any(is_speakable(piece.spoken) for piece in pieces):
                opening = 0
            yield from _span_stretches(pieces, span, spoken, seconds)


def _span_stretches(
    pieces: Sequence[Piece], span: VoicedSpan, spoken: SpokenText, seconds: dict[StretchEnd, float]
) -> Iterator[Stretch]:
    """The pieces in the script's own offsets; they cover the span."""
    start = span.start
    for number, piece in enumerate(pieces):
        is_last = number == len(pieces) - 1
        end = span.end if is_last else spoken.to_source(piece.end)
        explicit_s = span.pause_after_s if is_last else None
        breaks = tuple(_breaks(piece, spoken))
        pause_s = seconds[piece.ending]
        yield Stretch(start, end, piece.spoken, span.voicing, piece.ending, pause_s, explicit_s, start, breaks)
        start = end
    if not pieces:
        # A speaker's label alone: nothing is said, and one stretch has to own the characters.
        yield Stretch(span.start, span.end, "", span.voicing, StretchEnd.CUT, 0.0, span.pause_after_s, span.start)


def _breaks(piece: Piece, spoken: SpokenText) -> Iterator[tuple[int, int]]:
    """In the script's own offsets, and in what is spoken of the piece."""
    if piece.breaks:
        first = spoken.text.index(piece.spoken[0], piece.start)
        yield from ((spoken.to_source(position), position - first) for position in piece.breaks)


def _span_pieces(
    spoken: SpokenText, span: VoicedSpan, ending: StretchEnd | None, segmentation: LengthRules
) -> list[Piece]:
    """ending: what ends behind the span; None if its block goes on with another voice or after a pause."""
    start, end = spoken.from_source(span.start), spoken.from_source(span.end)
    if ending is None:
        ending = (
            StretchEnd.SENTENCE if _SENTENCE_ENDED.search(spoken.text[max(start, end - 16) : end]) else StretchEnd.CUT
        )
    pieces: list[Piece] = []
    opening = segmentation.opening_chars
    for first, last, ends in _lines(spoken.text, start, end):
        found = _paragraph_pieces(spoken.text, first, last, segmentation, opening)
        if found:
            found[-1] = replace(found[-1], ending=ends)
        if opening and any(is_speakable(piece.spoken) for piece in found):
            opening = 0
        pieces += found
    if pieces:
        pieces[-1] = replace(pieces[-1], ending=ending)
    return pieces


def _paragraph_pieces(text: str, start: int, end: int, segmentation: LengthRules, opening: int) -> list[Piece]:
    """opening: length of the narration's first segment if it is in this paragraph, else 0."""
    found = capped(text, sentences(text, start, end), segmentation)
    match segmentation.mode:
        case SegmentationMode.SENTENCE:
            return _alone(text, list(found), opening)
        case SegmentationMode.PACKED if opening:
            first, rest = opened(text, list(found), opening)
            return [*packed(text, iter(first), segmentation), *packed(text, iter(rest), segmentation)]
        case SegmentationMode.PACKED:
            return list(packed(text, found, segmentation))


def _alone(text: str, pieces: list[Piece], opening: int) -> list[Piece]:
    """Each sentence by itself; only a long first one is divided, so that listening begins at once."""
    if not opening:
        return pieces
    first, rest = opened(text, pieces[:1], opening)
    return [*first, *rest, *pieces[1:]]


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int, StretchEnd]]:
    """Paragraphs, and lines where one is a stanza."""
    for first, last in _paragraphs(text, start, end):
        for line, line_end in verse_lines(text, first, last):
            yield line, line_end, StretchEnd.PARAGRAPH if line_end == last else StretchEnd.LINE


def _paragraphs(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Ranges that end behind the blank lines."""
    for match in _BLANK_LINE.finditer(text, start, end):
        yield start, match.end()
        start = match.end()
    if start < end:
        yield start, end


def _absorb_unspeakable(stretches: Iterable[Stretch]) -> list[Stretch]:
    """Give every stretch without letters or digits to the one before it, at the beginning to the one behind."""
    kept: list[Stretch] = []
    start = 0
    for each in stretches:
        if is_speakable(each.spoken):
            kept.append(replace(each, start=start))
        elif kept:
            kept[-1] = _joined(kept[-1], each)
        start = kept[-1].end if kept else 0
    return kept


def _joined(last: Stretch, silent: Stretch) -> Stretch:
    explicit_s = last.explicit_s
    if silent.explicit_s is not None:
        explicit_s = silent.explicit_s + (last.explicit_s or 0.0)
    # A separate full stop after a word in another voice ends the sentence of that word.
    ending = silent.ending if last.ending is StretchEnd.CUT else last.ending
    pause_s = max(last.pause_s, silent.pause_s)
    return replace(last, end=silent.end, ending=ending, pause_s=pause_s, explicit_s=explicit_s)


def _chapters(script: Script, firsts: Sequence[int]) -> tuple[Chapter, ...]:
    """Chapters in which something is spoken. The text before the first one is a part without a name."""
    found: dict[int, Chapter] = {}
    for number, chapter in enumerate(script.chapters):
        first = bisect_left(firsts, chapter.start)
        if first < len(firsts) and firsts[first] < _chapter_end(script.chapters, number, len(script.text)):
            found[first] = Chapter(chapter.title, first, chapter.id)
    if found and 0 not in found:
        found[0] = Chapter(script.title, 0)
    return tuple(found[first] for first in sorted(found))


def _chapter_end(chapters: Sequence[ScriptChapter], number: int, length: int) -> int:
    return chapters[number + 1].start if number + 1 < len(chapters) else length


LONGEST = 60
"""Code points of a line of verse; a typewriter wraps prose later."""

FEWEST = 3
"""Lines of a stanza that is not set in: two that begin with a capital are a chance."""

FEWEST_SET_IN = 2

_LINE_END = re.compile(r"\n")
_OPENING = "\"'“‘«„(—–_ \t"


def verse_lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The lines of the paragraph [start, end) if it is a stanza, else the whole; each with the line's end after it."""
    content = start + len(text[start:end].rstrip())
    inner = [match.end() for match in _LINE_END.finditer(text, start, content)]
    bounds = list(pairwise((start, *inner, end)))
    if _is_stanza([text[first:last] for first, last in bounds]):
        yield from bounds
    else:
        yield start, end


def _is_stanza(lines: Sequence[str]) -> bool:
    """What the first line is set in by went with the blank line before it."""
    is_set_in = all(line.startswith(("  ", "\t")) for line in lines[1:])
    if len(lines) < (FEWEST_SET_IN if is_set_in else FEWEST):
        return False
    return all(len(line.strip()) <= LONGEST and line.strip().lstrip(_OPENING)[:1].isupper() for line in lines)
