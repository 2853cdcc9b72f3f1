"""Which jobs are whole: one item from the submit to the end, because their plan is one segment. Pure.

A short plain text whose output one process makes in milliseconds beside the engine. Everything else is planned, spoken
and assembled as items of its own.
"""

from __future__ import annotations

from rhapsode.contract.jobs.input import SourceType
from rhapsode.contract.jobs.output import AudioFormat, Files, Output, OutputFormat, Timestamps
from rhapsode.contract.voices.modes import IfCacheMissing
from storage.jobs.whole import WholePlan
from storage.narration.first_words import first_words
from storage.narration.spec import NarrationSpec
from storage.segments.plan import encode_plan
from storage.text.drafting import draft_script, plain_text_script
from storage.text.unplannable import Unplannable

MOST_BYTES = 1_000
"""Of the text: what is read where requests are answered has no room for what grows with the square of its length."""


def whole_plan(text: str, spec: NarrationSpec) -> WholePlan | None:
    """The plan of a whole job, None for one that is not.

    Also None for a text of which no plan can be made: the item that plans says why.
    """
    if not may_be_whole(len(text.encode()), spec):
        return None
    try:
        draft = draft_script(plain_text_script(text, spec), spec)
    except Unplannable:
        return None
    if len(draft.plan.segments) != 1:
        return None
    return WholePlan(encode_plan(draft.plan).decode(), draft.speech_ms, first_words(draft.text), draft.warnings)


def may_be_whole(num_bytes: int, spec: NarrationSpec) -> bool:
    """All but the number of segments, which a plan tells. num_bytes: of the text."""
    request = spec.request
    return (
        request.input.type is SourceType.TEXT
        and num_bytes <= MOST_BYTES
        and not request.pronunciation_dictionaries
        and not request.validate_only
        and not _waits_for_voice(spec)
        and _is_made_at_once(request.output)
    )


def _waits_for_voice(spec: NarrationSpec) -> bool:
    """Before anything is spoken, which is no time to hold a place of an engine."""
    voices = (spec.own_voice, *(member.own_voice for member in spec.cast))
    return any(voice is not None and voice.if_missing is IfCacheMissing.WAIT for voice in voices)


def _is_made_at_once(output: Output) -> bool:
    """Without a second pass over the samples, an encoder, a picture, times of words, or another's bucket."""
    return (
        all(_is_one_wav(form) for form in output.formats)
        and output.loudness is None
        and output.speed == 1
        and output.timestamps is Timestamps.OFF
        and not output.subtitles
        and output.cover is None
        and output.bucket is None
    )


def _is_one_wav(form: OutputFormat) -> bool:
    return form.type is AudioFormat.WAV and form.files is Files.WHOLE
