from __future__ import annotations

from pathlib import Path

import pytest

from rhapsode.cli.failures import Misuse
from rhapsode.cli.narrate.files import DocumentFile, Ssml, read_spoken, title_of, with_parts


@pytest.mark.parametrize(
    ("file", "title"),
    [
        ("books/The Fables.v2.epub", "The Fables.v2"),
        ("tab\tand\nline.md", "tab and line"),
        ("half of a\udc80letter.txt", "half of a letter"),
        ("\u202eevil.txt", "evil"),
        ("物語.txt", "物語"),
        (f"{'x' * 250}.txt", "x" * 200),
    ],
)
def test_a_files_name_is_the_title(file: str, title: str) -> None:
    assert title_of(file) == {"title": title}


@pytest.mark.parametrize("file", ["-", "\x01.txt"])
def test_what_has_no_name_has_no_title(file: str) -> None:
    assert title_of(file) == {}


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-16-le"])
def test_a_text_file_is_read_as_a_document_whatever_its_encoding(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "book.txt"
    file.write_bytes("The café was closed. It was late.".encode(encoding))

    assert read_spoken(str(file)) == DocumentFile(file, "txt")


def test_chapters_are_chosen_of_a_document_alone() -> None:
    book = DocumentFile(Path("book.epub"), "epub")

    assert with_parts(book, None) is book
    assert with_parts(book, ["3, 5", "7"]) == DocumentFile(Path("book.epub"), "epub", ("3", "5", "7"))
    with pytest.raises(Misuse, match="'b!d' must be the id of a chapter"):
        with_parts(book, ["b!d"])
    for spoken in ("A text.", Ssml("<speak/>")):
        assert with_parts(spoken, None) is spoken
        with pytest.raises(Misuse, match="needs a document"):
            with_parts(spoken, ["3"])
