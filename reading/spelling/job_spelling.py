"""How a job's texts are said: its dictionaries and its normalisation, on a script or on one sentence. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from reading.english.letters.marks import name_emoji
from reading.script.script import Block, BlockKind, Script, VoicedSpan, Voicing
from reading.spelling.normalizers import NORMALIZERS
from reading.spelling.respelling import Lexicon, respelt
from reading.spelling.rules import decode_rules
from reading.spelling.spoken import SpokenText
from rhapsode.contract.jobs.input import Emoji, Normalization
from rhapsode.contract.jobs.narration import Narration


class DictionaryDamaged(ValueError):
    """The bytes are not a pronunciation dictionary."""


def spelled(text: str, language: str, request: Narration, dictionaries: Sequence[bytes]) -> str:
    """What is said of a text that a user wrote in place of another. Raises `DictionaryDamaged`."""
    span = VoicedSpan(0, len(text), Voicing(language=language))
    script = respell_script(Script(text, (Block(BlockKind.PARAGRAPH, (span,)),)), request, dictionaries)
    return SpokenText(script.text, script.replacements).text


def respell_script(script: Script, request: Narration, dictionaries: Sequence[bytes]) -> Script:
    """The job's dictionaries in their order, names of emoji, then numbers and signs. Raises `DictionaryDamaged`."""
    for lexicon in lexicons(dictionaries):
        script = respelt(script, lexicon)
    if request.normalization is Normalization.BASIC:
        named = {_language(span, request) for block in script.blocks for span in block.spans}
        if request.emoji is Emoji.NAMED:
            script = respelt(script, name_emoji, lambda span: _language(span, request) == "english")
        for language in sorted(named & NORMALIZERS.keys()):
            rules = NORMALIZERS[language]
            script = respelt(script, rules, lambda span, name=language: _language(span, request) == name)
    return script


def lexicons(dictionaries: Sequence[bytes]) -> tuple[Lexicon, ...]:
    """Raises `DictionaryDamaged`."""
    return tuple(_lexicon(data) for data in dictionaries)


def _language(span: VoicedSpan, request: Narration) -> str:
    return (span.voicing.language or request.language).casefold()


@lru_cache(maxsize=16)
def _lexicon(data: bytes) -> Lexicon:
    try:
        return Lexicon(decode_rules(data))
    except ValueError as error:
        raise DictionaryDamaged("a pronunciation dictionary of the job is damaged") from error
