"""The process that reads documents: one on standard input, its script on standard output.

    python -m worker.documents epub|html|md|txt skip|alt [chapter ...] < document

Both ends are files. The answer is one line of JSON.
"""

from __future__ import annotations

from worker.documents.limits import close_the_doors, limit_resources

# Before the parsers are loaded: their memory counts too.
limit_resources()

import sys  # noqa: E402

from storage.script import Script, plain_script  # noqa: E402
from storage.sources import DocumentFormat, Images  # noqa: E402
from worker.documents.characters import clean_text, decode_markup, decode_text  # noqa: E402
from worker.documents.epub.book import epub_script  # noqa: E402
from worker.documents.errors import DocumentError  # noqa: E402
from worker.documents.html_document import html_script  # noqa: E402
from worker.documents.markdown_document import markdown_script  # noqa: E402
from worker.documents.wire import encode_refusal, encode_script  # noqa: E402


def main() -> None:
    document_format, images, include = DocumentFormat(sys.argv[1]), Images(sys.argv[2]), sys.argv[3:]
    # Everything that is imported at first use has been used by now, as nothing can be opened from here on.
    html_script(markdown_script("# a\n\nb", ()).text, ())
    close_the_doors()
    try:
        answer = encode_script(_read(sys.stdin.buffer.read(), document_format, include, images))
    except DocumentError as error:
        answer = encode_refusal(error)
    except (MemoryError, RecursionError):
        answer = encode_refusal(DocumentError("the document takes too much memory to read"))
    sys.stdout.buffer.write(answer)
    sys.stdout.buffer.flush()


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
