"""A script in letters as one types them, and the segments made of it in the text as it came. Pure."""

from __future__ import annotations

from dataclasses import replace

from reading.plan.plan import PlanSegment
from reading.plan.sentences import sentence_break
from reading.script.script import Script, VoicedSpan
from reading.spelling.spoken import SpokenText


def as_typed(script: Script, letters: SpokenText) -> Script:
    """letters: of the script's text. The same script where none of them is odd; its marks stay where they were."""
    if letters.text == script.text:
        return script
    at = letters.from_source

    def moved(span: VoicedSpan) -> VoicedSpan:
        return replace(span, start=at(span.start), end=at(span.end))

    return replace(
        script,
        text=letters.text,
        blocks=tuple(replace(block, spans=tuple(map(moved, block.spans))) for block in script.blocks),
        replacements=tuple(replace(each, start=at(each.start), end=at(each.end)) for each in script.replacements),
        chapters=tuple(replace(each, start=at(each.start)) for each in script.chapters),
    )


def as_it_came(segment: PlanSegment, letters: SpokenText) -> PlanSegment:
    """Its places are those of the text before `as_typed`."""
    at = letters.to_source
    start = at(segment.start)
    threes = [(each, each, each) if isinstance(each, int) else each for each in segment.breaks]
    breaks = tuple(
        sentence_break(at(segment.start + source) - start, spoken, written) for source, spoken, written in threes
    )
    return replace(segment, start=start, end=at(segment.end), breaks=breaks)
