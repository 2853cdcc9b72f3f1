"""A segment of the plan with what its user says of it instead. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from reading.plan.plan import PlanSegment
from reading.spelling.respelling import Lexicon
from reading.spelling.spoken import SpokenText
from rhapsode.contract.jobs.narration import Narration
from storage.segments.edits import SegmentEdit

Spell = Callable[[str], str]
"""How a text is said that people wrote: figures and signs as words."""


def as_written(text: str) -> str:
    """For places where people see the written text."""
    return text


def edited_aloud(
    planned: PlanSegment, edit: SegmentEdit, request: Narration, dictionaries: Sequence[bytes]
) -> PlanSegment:
    """As `edited`, new texts read as the job's were. dictionaries: the job's. Raises `ValueError` for a damaged one."""
    if not edit.changes_words:
        return edited(planned, edit)
    # Rules of languages take memory. A GPU worker loads them only when a text is edited.
    from reading.spelling.job_spelling import spelled

    language = edit.language or planned.language or request.language
    return edited(planned, edit, lambda text: spelled(text, language, request, dictionaries))


def edited(planned: PlanSegment, edit: SegmentEdit, spell: Spell = as_written) -> PlanSegment:
    """The segment as it is to be said and shown. What the edit leaves alone stays as the plan has it.

    Its seed is the plan's: that of an edit is of one take.
    """
    said, instead, respell = planned, dict(edit.sentences or ()), Lexicon(edit.rules or ())
    if edit.rules:
        written = {number: each.written for number, each in enumerate(planned.sentences)}
        instead = {number: text for number, text in written.items() if any(respell(text, 0, len(text)))} | instead

    def say(text: str) -> str:
        return spell(SpokenText(text, list(respell(text, 0, len(text)))).text)

    if edit.text is not None:
        said = replace(planned, text=say(edit.text), written_otherwise=edit.text, breaks=())
    elif instead:
        said = planned.saying(instead, say)
    named = {name: getattr(edit, name) for name in ("speaker", "language", "instructions")}
    changed = {name: value for name, value in named.items() if value is not None}
    return replace(said, **changed) if changed else said
