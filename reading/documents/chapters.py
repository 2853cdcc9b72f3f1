"""Chapters as a document's reader meets them, and which of them are wanted."""

from __future__ import annotations

from collections.abc import Sequence

from reading.documents.errors import DocumentError
from reading.script.text_flow import TextFlow


class ChapterChoice:
    """Numbers the chapters from 1; the number is what a request calls them. An empty `include` wants all."""

    def __init__(self, include: Sequence[str]) -> None:
        self._include = frozenset(include)
        self._count = 0
        self.is_wanted = not include
        """Whether what comes now is to be spoken. Front matter before the first chapter belongs to no chapter."""

    def begin(self) -> str:
        """The next chapter's id."""
        self._count += 1
        chapter = str(self._count)
        self.is_wanted = not self._include or chapter in self._include
        return chapter

    def check(self) -> None:
        """After the last one. Raises `DocumentError` if a chapter that was asked for did not come."""
        unknown = sorted(self._include - {str(number) for number in range(1, self._count + 1)})
        if unknown:
            known = f"it has chapters 1 to {self._count}" if self._count else "it has no chapters"
            raise DocumentError(f"the document has no chapter {unknown[0][:32]!r}; {known}", "invalid_request")


class ChapterWriter(ChapterChoice):
    """Says to a flow where the chapters begin that are wanted."""

    def __init__(self, flow: TextFlow, include: Sequence[str]) -> None:
        super().__init__(include)
        self._flow = flow

    def write(self, title: str) -> None:
        """The next chapter begins."""
        chapter = self.begin()
        if self.is_wanted:
            self._flow.begin_chapter(chapter, title)
