"""A document of any kind to a script."""

from __future__ import annotations

from collections.abc import Sequence

from reading.documents.characters import clean_text, decode_markup, decode_text
from reading.documents.docx.word_document import docx_script
from reading.documents.epub.book import epub_script
from reading.documents.html_document import html_script
from reading.documents.markdown_document import markdown_script
from reading.documents.pdf.pdf_document import pdf_script
from reading.documents.plain.text_document import text_script
from reading.script.script import Script
from rhapsode.contract.jobs.input import DocumentFormat, Images


def read_document(
    data: bytes,
    document_format: DocumentFormat,
    include: Sequence[str] = (),
    images: Images = Images.SKIP,
    cast: Sequence[str] = (),
) -> Script:
    """cast: names that begin the lines of a play, which a text file may be. Raises `DocumentError`."""
    match document_format:
        case DocumentFormat.DOCX:
            return docx_script(data, include, images)
        case DocumentFormat.EPUB:
            return epub_script(data, include, images)
        case DocumentFormat.HTML:
            return html_script(decode_markup(data), include, images)
        case DocumentFormat.MARKDOWN:
            return markdown_script(decode_text(data), include, images)
        case DocumentFormat.PDF:
            return pdf_script(data, include, images)
        case DocumentFormat.TEXT:
            return text_script(clean_text(decode_text(data)), include, cast, images)
