"""A document of any kind to a script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reading.documents.characters import clean_text, decode_markup, decode_text
from reading.documents.docx.word_document import docx_script
from reading.documents.epub.book import epub_script
from reading.documents.html_document import html_script
from reading.documents.markdown_document import markdown_script
from reading.documents.pdf.pdf_document import pdf_script
from reading.documents.plain.text_document import text_script
from reading.script.left_out import LeftOutList
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
    repairs = LeftOutList()
    match document_format:
        case DocumentFormat.DOCX:
            script = docx_script(data, include, images)
        case DocumentFormat.EPUB:
            script = epub_script(data, include, images)
        case DocumentFormat.HTML:
            script = html_script(decode_markup(data, repairs), include, images)
        case DocumentFormat.MARKDOWN:
            script = markdown_script(decode_text(data, repairs), include, images)
        case DocumentFormat.PDF:
            script = pdf_script(data, include, images)
        case DocumentFormat.TEXT:
            script = text_script(clean_text(decode_text(data, repairs)), include, cast, images)
    return replace(script, repairs=(*repairs.all, *script.repairs))
