"""Which files are documents, and of which format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rhapsode.client.request_options import DocumentFormat

DOCUMENT_SUFFIXES: dict[str, DocumentFormat] = {
    ".docx": "docx",
    ".epub": "epub",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".md": "md",
    ".markdown": "md",
    ".pdf": "pdf",
}
"""Files that are not spoken as they are: they have chapters, and markup that is not to be heard."""


def document_format(path: Path) -> DocumentFormat | None:
    """By the file's suffix; None for a file whose text is spoken as it is."""
    return DOCUMENT_SUFFIXES.get(path.suffix.lower())
