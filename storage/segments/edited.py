"""A segment of the plan with what its user says of it instead. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from reading.plan.plan import PlanSegment
from reading.plan.sentences import SentenceBreak, sentence_break, stretches
from storage.segments.edits import SegmentEdit

Spell = Callable[[str], str]
"""How a text is said that people wrote: figures and signs as words."""


def as_written(text: str) -> str:
    """For places where people see the written text."""
    return text


def edited(planned: PlanSegment, edit: SegmentEdit, spell: Spell = as_written) -> PlanSegment:
    """The segment as it is to be said and shown. What the edit leaves alone stays as the plan has it.

    Its seed is the plan's: that of an edit is of one take.
    """
    said = planned
    if edit.text is not None:
        said = replace(planned, text=spell(edit.text), written_otherwise=edit.text, breaks=())
    elif edit.sentences is not None:
        said = _saying_in(planned, dict(edit.sentences), spell)
    named = {name: getattr(edit, name) for name in ("speaker", "language", "instructions")}
    changed = {name: value for name, value in named.items() if value is not None}
    return replace(said, **changed) if changed else said


def _saying_in(planned: PlanSegment, instead: Mapping[int, str], spell: Spell) -> PlanSegment:
    """Other sentences in the places of some; between two is what the plan has between them."""
    spoken, written = "", ""
    breaks: list[SentenceBreak] = []
    gaps = _gaps(planned)
    for number, (sentence, gap) in enumerate(zip(planned.sentences, gaps, strict=True)):
        if number:
            breaks.append(sentence_break(sentence.start - planned.start, len(spoken), len(written)))
        new = instead.get(number)
        spoken += (sentence.spoken if new is None else spell(new)) + gap
        written += (sentence.written if new is None else new) + gap
    return replace(planned, text=spoken.rstrip(), written_otherwise=written.rstrip(), breaks=tuple(breaks))


def _gaps(planned: PlanSegment) -> list[str]:
    """What stands behind each sentence; nothing in scripts that put no space there."""
    return [stretch[len(stretch.rstrip()) :] for stretch in stretches(planned.text, planned.breaks)]
