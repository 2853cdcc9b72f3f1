"""The process that reads documents: bounded, without doors, and heard when it ends badly."""

from __future__ import annotations

import sys

import pytest

from storage.sources import DocumentFormat
from tests.worker.documents.books import book, package, page
from worker.documents.errors import DocumentError
from worker.documents.reading import ReaderBroken, read_document


def unconcerned() -> None:
    """Nobody gives up on the document."""


def test_a_book_comes_back_as_it_was_read() -> None:
    data = book({"book.opf": package(["one.xhtml"]), "one.xhtml": page("<h1>Über</h1><p>字 🦊.</p>")})

    script = read_document(data, DocumentFormat.EPUB, (), unconcerned)

    assert script.text == "Über\n\n字 🦊.\n\n"
    assert (script.title, script.chapters[0].title, len(script.blocks)) == ("A Book", "Über", 2)


def test_a_refusal_comes_back_with_its_code() -> None:
    with pytest.raises(DocumentError, match="no chapter '2'") as refused:
        read_document(b"# One\n\nText.", DocumentFormat.MARKDOWN, ("2",), unconcerned)

    assert refused.value.code == "invalid_request"


def test_nesting_without_end_is_refused() -> None:
    with pytest.raises(DocumentError, match="cannot be read to its end"):
        read_document(b"<p>" + b"<div>" * 100_000 + b"lost", DocumentFormat.HTML, (), unconcerned)


def run(source: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-c", source)


def test_a_reader_that_is_killed_blames_the_document() -> None:
    suicide = run("import os, signal; os.kill(os.getpid(), signal.SIGXCPU)")

    with pytest.raises(DocumentError, match="too much time or memory"):
        read_document(b"", DocumentFormat.TEXT, (), unconcerned, suicide)


def test_a_reader_that_does_not_run_is_not_the_documents_fault() -> None:
    with pytest.raises(ReaderBroken, match="status 3: no parser"):
        read_document(
            b"",
            DocumentFormat.TEXT,
            (),
            unconcerned,
            run("import sys; print('no parser', file=sys.stderr); sys.exit(3)"),
        )
    with pytest.raises(ReaderBroken, match="no answer"):
        read_document(b"", DocumentFormat.TEXT, (), unconcerned, run("print('hello')"))


def test_reading_ends_when_nobody_wants_the_document_any_more() -> None:
    class GivenUp(Exception):
        pass

    def give_up() -> None:
        raise GivenUp

    with pytest.raises(GivenUp):
        read_document(b"", DocumentFormat.TEXT, (), give_up, run("import time; time.sleep(60)"))


def test_the_reader_can_open_neither_file_nor_socket() -> None:
    source = (
        "from worker.documents.limits import close_the_doors, limit_resources\n"
        "import socket, sys\nlimit_resources()\nclose_the_doors()\nopened = 0\n"
        "for door in (lambda: open('/etc/hostname'), socket.socket):\n"
        "    try:\n        door()\n        opened += 1\n    except OSError:\n        pass\n"
        "sys.stderr.write(f'{opened} opened')\nsys.exit(9)"
    )

    with pytest.raises(ReaderBroken, match="status 9: 0 opened"):
        read_document(b"", DocumentFormat.TEXT, (), unconcerned, run(source))
