"""What the stored input of a narration is. Pure."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class SourceType(enum.StrEnum):
    TEXT = "text"
    """Plain text in UTF-8; with a cast, lines may begin with a speaker's name and a colon."""

    SSML = "ssml"
    """An SSML document in UTF-8."""

    SEGMENTS = "segments"
    """A list of entries as JSON lines, each with its own text and what it is spoken with."""

    DOCUMENT = "document"
    """A file as it was uploaded."""


class DocumentFormat(enum.StrEnum):
    EPUB = "epub"
    HTML = "html"
    MARKDOWN = "md"
    TEXT = "txt"


class Images(enum.StrEnum):
    """What is said where a document has a picture."""

    SKIP = "skip"
    ALT = "alt"
    """What its `alt` attribute says."""


@dataclass(frozen=True, slots=True)
class Source:
    """format: of a document, None for the rest. include: ids of the chapters that are spoken; empty means all.

    images: of a document.
    """

    type: SourceType = SourceType.TEXT
    format: DocumentFormat | None = None
    include: tuple[str, ...] = ()
    images: Images = Images.SKIP
