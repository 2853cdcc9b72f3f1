"""The process that reads documents: bounded, without doors, and heard when it ends badly."""

from __future__ import annotations

import pytest

from storage.narration.sources import DocumentFormat
from tests.storage.runtime.fork_server.programs import zygote_of
from tests.worker.planning.documents.books import book, package, page
from worker.planning.documents.errors import DocumentError
from worker.planning.documents.reading import ReaderBroken, read_document


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


def test_a_reader_that_is_killed_blames_the_document() -> None:
    with (
        zygote_of("os.kill(os.getpid(), signal.SIGXCPU)") as readers,
        pytest.raises(DocumentError, match="too much time or memory"),
    ):
        read_document(b"", DocumentFormat.TEXT, (), unconcerned, readers)


def test_a_reader_that_does_not_run_is_not_the_documents_fault() -> None:
    with zygote_of("raise RuntimeError('no parser')") as readers, pytest.raises(ReaderBroken, match="no parser"):
        read_document(b"", DocumentFormat.TEXT, (), unconcerned, readers)
    with zygote_of("print('hello')") as readers, pytest.raises(ReaderBroken, match="no answer"):
        read_document(b"", DocumentFormat.TEXT, (), unconcerned, readers)
    with zygote_of("", "import lxmls") as readers, pytest.raises(ReaderBroken, match="No module named 'lxmls'"):
        read_document(b"", DocumentFormat.TEXT, (), unconcerned, readers)


def test_reading_ends_when_nobody_wants_the_document_any_more() -> None:
    class GivenUp(Exception):
        pass

    def give_up() -> None:
        raise GivenUp

    with zygote_of("signal.pause()") as readers, pytest.raises(GivenUp):
        read_document(b"", DocumentFormat.TEXT, (), give_up, readers)


def test_the_reader_can_open_neither_file_nor_socket() -> None:
    task = """
opened = 0
for door in (lambda: open('/etc/hostname'), socket.socket):
    try:
        door()
        opened += 1
    except OSError:
        pass
raise RuntimeError(f'{opened} opened')
"""

    with zygote_of(task) as readers, pytest.raises(ReaderBroken, match="RuntimeError: 0 opened"):
        read_document(b"", DocumentFormat.TEXT, (), unconcerned, readers)
