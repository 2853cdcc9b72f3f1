"""A text that is still being written, as token ids: in pieces of any shape, the ids of the whole text.

An id is given out once nothing that may follow can change it. The encoder composes characters, divides a text into
words and encodes each by itself. So ids are final up to the last word, which may grow. After a blank, all are final.
"""

from __future__ import annotations

import unicodedata

from worker.engine.requests.text_tokenizer import TextTokenizer

_LINE_ENDS = ("\r", "\n")


class OpenText:
    """The text of one request, without the blanks at its ends. Belongs to one thread at a time."""

    def __init__(self, tokenizer: TextTokenizer) -> None:
        self._tokenizer = tokenizer
        self._unsettled = ""
        self._is_begun = False

    def push(self, piece: str, *, is_last: bool) -> tuple[int, ...]:
        """The ids that are settled now and were not before. Raises RequestRejected when it is not Unicode text."""
        text = unicodedata.normalize("NFC", self._unsettled + piece)
        if not self._is_begun:
            text = text.lstrip()
            self._is_begun = bool(text)
        if is_last:
            self._unsettled = ""
            return self._tokenizer.encode(text.rstrip())
        settled = self._settled(text)
        self._unsettled = text[settled:]
        return self._tokenizer.encode(text[:settled])

    def _settled(self, text: str) -> int:
        """How many characters nothing that follows can change."""
        words_end = len(text.rstrip())
        blank = text[words_end : words_end + 1]
        if blank and blank not in _LINE_ENDS:
            return words_end
        # A line end belongs to the punctuation before it, and blanks between two of them to both.
        starts = self._tokenizer.word_starts(text[:words_end])
        while starts and unicodedata.combining(text[starts[-1]]):
            starts.pop()
        return starts[-1] if starts else 0
