from __future__ import annotations

import re
from pathlib import Path

import pytest

from rhapsode.cli.failures import Misuse
from rhapsode.cli.narrate.files import DocumentFile, Ssml, document_format, read_spoken, title_of, with_parts


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


@pytest.mark.parametrize("name", ["book.txt", "book.md", "book.html"])
def test_a_named_encoding_is_kept_for_the_upload(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_bytes("Grüße".encode("cp437"))

    assert read_spoken(str(file), "cp437") == DocumentFile(file, document_format(file) or "txt", encoding="cp437")


def test_ssml_is_read_in_a_named_encoding(tmp_path: Path) -> None:
    file = tmp_path / "a.ssml"
    file.write_bytes("<speak>Grüße</speak>".encode("utf-32"))

    assert read_spoken(str(file), "utf-32") == Ssml("<speak>Grüße</speak>")


@pytest.mark.parametrize(
    ("name", "encoding", "reason"),
    [
        ("a.txt", "cp9999", "there is no 'cp9999'"),
        ("a.txt", "hex", "there is no 'hex'"),
        ("a.txt", "utf-8", "is not text in utf-8 at byte 2"),
        ("a.md", "ascii", "is not text in ascii at byte 2"),
        ("a.ssml", "utf-7", "is not text in utf-7"),
        ("a.epub", "cp1252", "--encoding is for text files"),
    ],
)
def test_an_encoding_that_does_not_fit_is_refused_before_a_server_is_asked(
    tmp_path: Path, name: str, encoding: str, reason: str
) -> None:
    file = tmp_path / name
    file.write_bytes("Grüße".encode("cp1252"))

    with pytest.raises(Misuse, match=re.escape(reason)):
        read_spoken(str(file), encoding)


@pytest.mark.parametrize(
    ("include", "chosen"),
    [(["3-5"], "3 4 5"), (["1,3-4", "7"], "1 3 4 7"), (["2-2"], "2"), (["1-1000"], " ".join(map(str, range(1, 1001))))],
)
def test_a_range_stands_for_its_chapters(include: list[str], chosen: str) -> None:
    book = DocumentFile(Path("book.epub"), "epub")

    assert with_parts(book, include) == DocumentFile(Path("book.epub"), "epub", tuple(chosen.split()))


@pytest.mark.parametrize(
    ("include", "reason"),
    [("5-3", "begins after its end; write 3-5"), ("1-999999", "at most 1,000 chapters"), ("1-1000,2", "at most 1,000")],
)
def test_a_range_is_checked_before_a_server_is_asked(include: str, reason: str) -> None:
    with pytest.raises(Misuse, match=reason):
        with_parts(DocumentFile(Path("book.epub"), "epub"), [include])


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
