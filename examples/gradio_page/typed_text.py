"""A text while it is typed, as the pieces that the client sends on."""

from __future__ import annotations

import queue
from collections.abc import Iterator

from rhapsode.client.live.written import whole_words


class TypedText:
    """An iterator for one reader; `show` and `finish` come from other threads. What was read once stays said."""

    def __init__(self) -> None:
        self._pieces: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._given = ""

    def show(self, text: str) -> None:
        """All that is typed so far. Words go when white space follows; a change of what has gone is passed over."""
        self._give(text[: whole_words(text)])

    def finish(self, text: str) -> None:
        """All that was typed."""
        self._give(text)
        self._pieces.put(None)

    def __iter__(self) -> Iterator[str]:
        return iter(self._pieces.get, None)

    def _give(self, text: str) -> None:
        if text.startswith(self._given) and len(text) > len(self._given):
            self._pieces.put(text[len(self._given) :])
            self._given = text
