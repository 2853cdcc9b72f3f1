"""A document of any kind to a script."""

from __future__ import annotations

from collections.abc import Sequence

from rhapsode.contract.jobs.input import DocumentFormat, Images
from storage.narration.script.script import Script, plain_script
from worker.planning.documents.characters import clean_text, decode_markup, decode_text
from worker.planning.documents.epub.book import epub_script
from worker.planning.documents.html_document import html_script
from worker.planning.documents.markdown_document import markdown_script


def read_document(
    data: bytes, document_format: DocumentFormat, include: Sequence[str] = (), images: Images = Images.SKIP
) -> Script:
    """Raises `DocumentError`."""
    match document_format:
        case DocumentFormat.EPUB:
            return epub_script(data, include, images)
        case DocumentFormat.HTML:
            return html_script(decode_markup(data), include, images)
        case DocumentFormat.MARKDOWN:
            return markdown_script(decode_text(data), include, images)
        case DocumentFormat.TEXT:
            return plain_script(clean_text(decode_text(data)))
