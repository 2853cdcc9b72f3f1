"""What a job's dictionaries and its normalisation make of a script. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from rhapsode.contract.jobs.input import Emoji, Normalization
from storage.narration.script.script import Script, Span
from storage.narration.spec import NarrationSpec
from storage.pronunciations.dictionaries import decode_rules
from worker.errors import unusable
from worker.speech.text.english.letters.marks import name_emoji
from worker.speech.text.numbers.rules import NORMALIZERS
from worker.speech.text.respelling import Lexicon, respelt


def respell_script(script: Script, spec: NarrationSpec, dictionaries: Sequence[bytes]) -> Script:
    """The job's dictionaries in their order, names of emoji, then numbers and signs. Raises `PermanentItemError`."""
    for data in dictionaries:
        script = respelt(script, _lexicon(data))
    if spec.request.normalization is Normalization.BASIC:
        named = {_language(span, spec) for block in script.blocks for span in block.spans}
        if spec.request.emoji is Emoji.NAMED:
            script = respelt(script, name_emoji, lambda span: _language(span, spec) == "english")
        for language in sorted(named & NORMALIZERS.keys()):
            rules = NORMALIZERS[language]
            script = respelt(script, rules, lambda span, name=language: _language(span, spec) == name)
    return script


def _language(span: Span, spec: NarrationSpec) -> str:
    return (span.voicing.language or spec.request.language).casefold()


def _lexicon(data: bytes) -> Lexicon:
    try:
        return Lexicon(decode_rules(data))
    except ValueError as error:
        raise unusable("internal", "a pronunciation dictionary of the job is damaged") from error
