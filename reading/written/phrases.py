"""Words as they are said, while the text is being written. Pure.

Most words are said as they are written, at once. A word that a rule or dictionary may change waits for the following
words that belong to it, or for its sentence's end. Then all are respelt together, with the words before them in the
sentence as context.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from reading.spelling.running_text import RunningSpelling
from reading.written.sentence_ends import SentenceEnd, SentenceReader
from reading.written.words import Gap, Word

LONGEST_PHRASE = 300
"""In characters; then it is read as far as it is known."""

LOOK_BACK = 120
"""In characters: more than rules look back at to tell whether a sentence begins."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """What is said next, as many words as there are. gap: what stands before it."""

    text: str
    gap: Gap


class PhraseReader:
    """`Phrase` and the ends of sentences, in order."""

    def __init__(self, sentences: SentenceReader, spelling: RunningSpelling) -> None:
        self._sentences = sentences
        self._spelling = spelling
        self._before = ""
        self._phrase: list[Word] = []
        self._num_plain = 0
        self._ready: deque[Phrase | SentenceEnd] = deque()

    @property
    def is_over(self) -> bool:
        return self._sentences.is_over and not self._ready and not self._phrase

    def next(self) -> Phrase | SentenceEnd | None:
        while not self._ready:
            event = self._sentences.next()
            if event is None:
                return None
            self._take(event)
        return self._ready.popleft()

    def _take(self, event: Word | SentenceEnd) -> None:
        if isinstance(event, SentenceEnd):
            self._say_phrase()
            self._ready.append(event)
            self._before = ""
            return
        if self._may_change(event):
            self._phrase.append(event)
            self._num_plain = 0
        elif self._phrase:
            self._phrase.append(event)
            self._num_plain += 1
        else:
            self._ready.append(Phrase(event.text, event.gap))
            self._pass(event.source)
        length = sum(len(word.source) for word in self._phrase)
        if self._num_plain >= self._spelling.words_behind or length > LONGEST_PHRASE:
            self._say_phrase()

    def _may_change(self, word: Word) -> bool:
        before = self._before + "".join(each.source for each in self._phrase) + word.gap.value
        return self._spelling.may_change(word.text, before[-LOOK_BACK:])

    def _say_phrase(self) -> None:
        if not self._phrase:
            return
        gap = self._phrase[0].gap
        source = "".join(word.source for word in self._phrase)[len(gap.value) :]
        before = self._before + gap.value
        said = self._spelling.said(source, before)
        if said:
            self._ready.append(Phrase(said, gap))
        self._pass(gap.value + source)
        self._phrase, self._num_plain = [], 0

    def _pass(self, source: str) -> None:
        self._before = (self._before + source)[-LOOK_BACK:]
