"""Gives the quotations of a script to their speakers. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

from reading.dialogue.attribution import find_lines
from reading.dialogue.quotations import Span
from reading.script.script import Block, Script, VoicedSpan

_TAG = re.compile(r"\s{0,4}[a-z]")


def voiced_script(script: Script, speakers: Mapping[str, str], tag_pause_s: float) -> tuple[Script, int]:
    """The script with its lines spoken by `speakers` (a line's id to a name), and how many ids no line has.

    All other text keeps its voice. tag_pause_s: between a line and a tag that goes on with its sentence (`he asked`).
    """
    lines = {id: quotation for id, quotation in find_lines(script) if id in speakers}
    spoken = [((each.start, each.end), speakers[id]) for id, each in lines.items()]
    blocks: list[Block] = []
    at = 0
    for block in script.blocks:
        while at < len(spoken) and spoken[at][0][1] <= block.start:
            at += 1
        last = at
        while last < len(spoken) and spoken[last][0][0] < block.end:
            last += 1
        if last > at:
            spans = _divided(block.spans, spoken[at:last])
            block = replace(block, spans=tuple(_with_tags(script.text, [*spans], tag_pause_s)))
        blocks.append(block)
    return replace(script, blocks=tuple(blocks)), len(speakers) - len(lines)


def _with_tags(text: str, spans: Sequence[VoicedSpan], pause_s: float) -> Iterator[VoicedSpan]:
    for span, following in zip_longest(spans, spans[1:]):
        is_tag = following is not None and span.voicing.speaker and _TAG.match(text, following.start, following.end)
        yield replace(span, pause_after_s=pause_s) if is_tag and span.pause_after_s is None else span


def _divided(spans: Sequence[VoicedSpan], spoken: Sequence[tuple[Span, str]]) -> Iterator[VoicedSpan]:
    """The spans, cut where a speaker begins or ends. A pause stays behind the last part of its span."""
    for span in spans:
        at = span.start
        for (start, end), speaker in spoken:
            start, end = max(start, at), min(end, span.end)
            if start >= end:
                continue
            if start > at:
                yield replace(span, start=at, end=start, pause_after_s=None)
            yield replace(
                span,
                start=start,
                end=end,
                voicing=replace(span.voicing, speaker=speaker),
                pause_after_s=span.pause_after_s if end == span.end else None,
            )
            at = end
        if at < span.end:
            yield replace(span, start=at)
