"""The zygote of processes that read documents: one on standard input, its script on standard output.

    python -m worker.planning.documents    (started by `reading`)

A child's arguments are epub|html|md|txt skip|alt [chapter ...]. Its answer is one line of JSON.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from storage.narration.script.script import Script, plain_script
from storage.narration.sources import DocumentFormat, Images
from storage.runtime.fork_server.server import serve
from worker.planning.documents.characters import clean_text, decode_markup, decode_text
from worker.planning.documents.epub.book import epub_script
from worker.planning.documents.errors import DocumentError
from worker.planning.documents.html_document import html_script
from worker.planning.documents.limits import LIMITS
from worker.planning.documents.markdown_document import markdown_script
from worker.planning.documents.protocol import encode_refusal, encode_script


def main() -> None:
    # Everything that is imported at first use has been used by now, as children can open nothing.
    html_script(markdown_script("# a\n\nb", ()).text, ())
    serve(answer, LIMITS)


def answer(arguments: Sequence[str]) -> None:
    document_format, images, include = DocumentFormat(arguments[0]), Images(arguments[1]), list(arguments[2:])
    try:
        script = encode_script(_read(sys.stdin.buffer.read(), document_format, include, images))
    except DocumentError as error:
        script = encode_refusal(error)
    except (MemoryError, RecursionError):
        script = encode_refusal(DocumentError("the document takes too much memory to read"))
    sys.stdout.buffer.write(script)


def _read(data: bytes, document_format: DocumentFormat, include: list[str], images: Images) -> Script:
    match document_format:
        case DocumentFormat.EPUB:
            return epub_script(data, include, images)
        case DocumentFormat.HTML:
            return html_script(decode_markup(data), include, images)
        case DocumentFormat.MARKDOWN:
            return markdown_script(decode_text(data), include, images)
        case DocumentFormat.TEXT:
            return plain_script(clean_text(decode_text(data)))


if __name__ == "__main__":
    main()
