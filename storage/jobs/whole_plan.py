"""The plan of a whole job, made where it is submitted. Pure."""

from __future__ import annotations

from reading.drafting.draft import draft_script, plain_text_script
from reading.drafting.unplannable import Unplannable
from reading.plan.plan import encode_plan
from storage.jobs.whole import WholePlan, may_be_whole
from storage.narration.first_words import first_words
from storage.narration.spec import NarrationSpec


def whole_plan(text: str, spec: NarrationSpec) -> WholePlan | None:
    """None for a job that is not whole, also for a text of which no plan can be made: the item that plans says why."""
    if not may_be_whole(len(text.encode()), spec):
        return None
    try:
        draft = draft_script(plain_text_script(text, spec), spec)
    except Unplannable:
        return None
    if len(draft.plan.segments) != 1:
        return None
    return WholePlan(encode_plan(draft.plan).decode(), draft.speech_ms, first_words(draft.text), draft.warnings)
