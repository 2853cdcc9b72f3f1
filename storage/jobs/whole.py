"""Which jobs are whole: one item from the submit to the end, because their plan is one segment. Pure.

A short plain text whose output one process makes in milliseconds beside the engine. Everything else is planned, spoken
and assembled as separate items.
"""

from __future__ import annotations

from dataclasses import dataclass

from reading.drafting.warnings import TextWarning
from rhapsode.contract.jobs.input import SourceType
from rhapsode.contract.jobs.output import AudioFormat, Files, Output, Timestamps
from rhapsode.contract.voices.modes import IfCacheMissing
from storage.narration.spec import NarrationSpec

WHOLE_ITEM = "0"
"""Its one item is its one segment: whatever comes between, the job goes on as any other with a plan does."""

MOST_BYTES = 1_000
"""Of the text: what is read where requests are answered has no room for what grows with the square of its length."""


@dataclass(frozen=True, slots=True)
class WholePlan:
    """The plan that comes with a submission: `storage.jobs.whole_plan` makes it.

    document: the plan, as it would lie in the store. speech_ms: expected. first_words: of the text. warnings: what the
    owner should know of it.
    """

    document: str
    speech_ms: int
    first_words: str
    warnings: tuple[TextWarning, ...] = ()


def may_be_whole(num_bytes: int, spec: NarrationSpec) -> bool:
    """Whether the job is whole if its plan has one segment. num_bytes: of the text."""
    request = spec.request
    return (
        request.input.type is SourceType.TEXT
        and num_bytes <= MOST_BYTES
        and not request.pronunciation_dictionaries
        and not request.input.has_lines
        and not request.validate_only
        and not _waits_for_voice(spec)
        and is_made_at_once(request.output)
    )


def _waits_for_voice(spec: NarrationSpec) -> bool:
    """Before anything is spoken, which is no time to hold a place of an engine."""
    voices = (spec.own_voice, *(member.own_voice for member in spec.cast))
    return any(voice is not None and voice.if_missing is IfCacheMissing.WAIT for voice in voices)


def is_made_at_once(output: Output) -> bool:
    """Without a second pass over the samples, an encoder, a picture, or times of words."""
    return (
        all(form.type is AudioFormat.WAV and form.files is Files.WHOLE for form in output.formats)
        and output.loudness is None
        and output.speed == 1
        and output.timestamps is Timestamps.OFF
        and not output.subtitles
        and output.cover is None
    )
