"""What is said of a passage, by what stands before it. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from reading.english.front_end import is_prose
from reading.english.letters.marks import name_emoji
from reading.script.script import Block, BlockKind, Script, VoicedSpan
from reading.spelling.job_spelling import lexicons
from reading.spelling.normalizers import NORMALIZERS
from reading.spelling.respelling import Respell, respelt
from reading.spelling.spoken import SpokenText
from rhapsode.contract.jobs.input import Emoji, Normalization

WORDS_BEHIND = 3
"""Words of letters at the end of what the rules of a language read as one: $5 and a half million."""

_LETTERS = re.compile(
    r"[(\"“‘«„¿¡]{0,2}(?:[^\W\d_]{1,40}+)(?:['’\-][^\W\d_]{1,40}+){0,4}[,;:!?…。，、！？]{0,3}[\"”’»“)]{0,2}\Z"
)
_CAPITALS = re.compile(r"\W{0,2}(?:[^\W\d_a-zß-öø-ÿ]\W?){2}")
"""Of what `_LETTERS` describes: no more signs can stand there."""


class RunningSpelling:
    """The dictionaries in their order, names of emoji, then numbers and signs, as `respell_script` has them.

    language: as the model names it. words_behind: how many that change nothing may end what is read as one.
    """

    def __init__(
        self, language: str, normalization: Normalization, emoji: Emoji, dictionaries: Sequence[bytes]
    ) -> None:
        """Raises `DictionaryDamaged`."""
        name = language.casefold()
        self._lexicons = lexicons(dictionaries)
        self._rules: list[Respell] = [*self._lexicons]
        self._is_prose: Callable[[str, str], bool] | None = None
        self.words_behind = max((lexicon.most_words - 1 for lexicon in self._lexicons), default=0)
        if normalization is Normalization.BASIC and name in NORMALIZERS:
            if emoji is Emoji.NAMED and name == "english":
                self._rules.append(name_emoji)
            self._rules.append(NORMALIZERS[name])
            self._is_prose = is_prose if name == "english" else _is_letters
            self.words_behind = max(self.words_behind, WORDS_BEHIND)

    def may_change(self, word: str, before: str) -> bool:
        """Whether the word, or an expression that begins with it, may be said otherwise. before: what it follows."""
        if any(lexicon.may_begin(word) for lexicon in self._lexicons):
            return True
        return self._is_prose is not None and not self._is_prose(word, before)

    def said(self, passage: str, before: str) -> str:
        """What is said of the passage; `before` begins with its sentence, or is longer than rules look back."""
        start = len(before)
        text = before + passage
        spans = (VoicedSpan(0, start), VoicedSpan(start, len(text)))
        script = Script(text, (Block(BlockKind.PARAGRAPH, spans),))
        for rule in self._rules:
            script = respelt(script, rule, lambda span: span is spans[1])
        return SpokenText(script.text, script.replacements).text[start:]


def _is_letters(word: str, before: str) -> bool:
    """Whether it is a word of letters, and no abbreviation or numeral of capitals. before: makes no difference."""
    del before
    return _LETTERS.match(word) is not None and _CAPITALS.match(word) is None
