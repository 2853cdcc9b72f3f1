"""What is to be spoken: a text, or one of the API's other inputs under its names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypedDict

DocumentFormat = Literal["epub", "html", "md", "txt"]

DOCUMENT_SUFFIXES: dict[str, DocumentFormat] = {
    ".epub": "epub",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".md": "md",
    ".markdown": "md",
}
"""Files that are not spoken as they are: they have chapters, and markup that nobody wants to hear."""


class SegmentEntry(TypedDict, total=False):
    """One entry of a list; `text` is required, what else is left out is as the job has it."""

    text: str
    id: str
    voice: str
    speaker: str
    language: str
    instructions: str
    seed: int
    pause_after_s: float


class Document(TypedDict, total=False):
    """An uploaded file. include: ids of chapters, all if left out. images: "alt" says what stands for a picture."""

    upload_id: str
    format: DocumentFormat
    include: Sequence[str]
    images: Literal["skip", "alt"]


class JobInput(TypedDict, total=False):
    """Exactly one of the four."""

    text: str
    ssml: str
    segments: Sequence[SegmentEntry]
    document: Document


def document_format(path: Path) -> DocumentFormat | None:
    """By the file's suffix; None for a file whose text is spoken as it is."""
    return DOCUMENT_SUFFIXES.get(path.suffix.lower())
