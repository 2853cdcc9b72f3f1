"""One utterance's text as it comes in: pieces of any shape go on as the same text, and nothing that cannot be spoken.

A piece may end within a character (JavaScript cuts strings between halves of a surrogate pair), or bring nothing that
can be spoken yet: such text waits for what follows. Every character is looked at once, and the last word once more.
"""

from __future__ import annotations

from pydantic_core import PydanticCustomError

from api.http.problems.problem import invalid_field, text_too_long
from rhapsode.contract.speakable_text import check_prose
from rhapsode.contract.words import MAX_WORD_CHARS, find_long_word, is_speakable

NOTHING_SPEAKABLE = "nothing_speakable"
"""In the findings of a text without a letter or digit, which has no audio."""


class IncomingText:
    def __init__(self, max_chars: int) -> None:
        self._max_chars = max_chars
        self._held: list[str] = []
        self._half = ""
        self._word = ""
        self.num_chars = 0
        self.has_begun = False

    def add(self, piece: str) -> str:
        """What can go on now, perhaps nothing. Raises the `Problem` of a text that cannot be spoken."""
        text, self._half = _divided(_joined(self._half, piece))
        return self._taken(text)

    def end(self) -> str:
        """The rest. Raises the `Problem` of a text that cannot be spoken. Without a letter or digit it is not begun."""
        half, self._half = self._half, ""
        return self._taken(half)

    @property
    def is_silent(self) -> bool:
        """Whether there is a text and nothing in it to speak."""
        return not self.has_begun and bool("".join(self._held).strip())

    def _taken(self, text: str) -> str:
        self.num_chars += len(text)
        if self.num_chars > self._max_chars:
            raise text_too_long(self.num_chars, self._max_chars, "/text")
        self._check(text)
        if self.has_begun:
            return text
        self._held.append(text)
        if not is_speakable(text):
            return ""
        self.has_begun = True
        return "".join(self._held)

    def _check(self, text: str) -> None:
        try:
            check_prose(text)
        except PydanticCustomError as error:
            raise invalid_field("/text", error.type, error.message()) from None
        run = self._word + text
        if find_long_word(run) is not None:
            detail = f"a word has more than {MAX_WORD_CHARS} characters"
            raise invalid_field("/text", "word_too_long", detail)
        self._word = _last_word(run)


def _joined(half: str, piece: str) -> str:
    """Both, a surrogate pair that they divide put together."""
    if half and piece and "\udc00" <= piece[0] <= "\udfff":
        return (half + piece[0]).encode("utf-16-le", "surrogatepass").decode("utf-16-le") + piece[1:]
    return half + piece


def _divided(text: str) -> tuple[str, str]:
    """The text, and the first half of a pair at its end."""
    if text and "\ud800" <= text[-1] <= "\udbff":
        return text[:-1], text[-1]
    return text, ""


def _last_word(text: str) -> str:
    """The word that the next piece may go on with; never longer than a word may be, as longer ones are refused.

    A run in a script without spaces may be: of that the end is enough.
    """
    tail = text[-(MAX_WORD_CHARS + 1) :]
    return "" if tail[-1:].isspace() else tail[max(tail.rfind(" "), tail.rfind("\n")) + 1 :]
