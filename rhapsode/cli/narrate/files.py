"""Input and output files of `rhapsode narrate`, checked before the work starts."""

from __future__ import annotations

import codecs
import re
import sys
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rhapsode.cli.failures import Misuse
from rhapsode.cli.narrate.sent_files import readable, reading
from rhapsode.client.request_options import DocumentFields, DocumentFormat, JobInputFields

if TYPE_CHECKING:
    from rhapsode.client.sync.client import Rhapsode
    from rhapsode.contract.uploads import Upload

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
"""Documents with chapters and markup, which the server reads."""

SSML_SUFFIX = ".ssml"

MOST_TITLE_CHARS = 200

MOST_CHAPTERS = 1_000
"""In one request; the API takes no more."""

_RANGE = re.compile(r"([0-9]{1,6})-([0-9]{1,6})")

_NEVER_TEXT = {
    b"%PDF-": "a PDF (a .pdf is read under its name)",
    b"{\\rtf": "a rich text (RTF)",
    b"PK\x03\x04": "an archive or an office document (a .docx is read under its name)",
    b"\xd0\xcf\x11\xe0": "an office document",
}
_BOOK = "a book for Kindle; make an EPUB of it, as `ebook-convert FILE book.epub` of Calibre does"
_OTHER_SUFFIXES = {
    ".mobi": _BOOK,
    ".azw": _BOOK,
    ".azw3": _BOOK,
    ".kfx": _BOOK,
    ".doc": "a document of an old Word; save it as .docx",
    ".rtf": "a rich text (RTF); save it as .docx",
    ".odt": "a document of LibreOffice; save it as .docx",
}
"""Unsupported formats, and what to do."""

_NAMING_ENCODINGS = ("docx", "epub", "pdf")
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_NO_TEXT = b"\0\0\0"
"""Even UTF-16 text has fewer in a row."""

_TEXT_UNLESS_BINARY = {b"RIFF": "a recording", b"fLaC": "a recording", b"OggS": "a recording", b"ID3": "a recording"}
"""A text may begin with these letters. Only a binary file has NUL bytes too."""


@dataclass(frozen=True, slots=True)
class DocumentFile:
    """A file that the server reads. include: ids of chapters, empty for all. encoding: of a text, None for a guess."""

    path: Path
    format: DocumentFormat
    include: tuple[str, ...] = ()
    encoding: str | None = None


@dataclass(frozen=True, slots=True)
class Ssml:
    """SSML. mode: strict refuses unknown elements."""

    text: str
    mode: Literal["strict", "lenient"] = "lenient"


Spoken = str | Ssml | DocumentFile


def sent_input(client: Rhapsode, spoken: Spoken, *, describe_images: bool = False) -> JobInputFields:
    """The text of a job; a document is uploaded first."""
    match spoken:
        case str():
            return {"text": spoken}
        case Ssml():
            return {"ssml": spoken.text, "ssml_mode": spoken.mode}
        case DocumentFile():
            upload_id = _uploaded(client, spoken).id
            chosen: DocumentFields = {"upload_id": upload_id, "format": spoken.format, "include": spoken.include}
            return {"document": {**chosen, "images": "alt" if describe_images else "skip"}}


def _uploaded(client: Rhapsode, document: DocumentFile) -> Upload:
    """A text with a given encoding is uploaded as UTF-8 with a BOM."""
    if document.encoding is None:
        return client.upload(document.path)
    with tempfile.NamedTemporaryFile() as file:
        text = _decoded(document.path.read_bytes(), document.encoding, str(document.path))
        file.write(text.encode("utf-8-sig"))
        file.flush()
        return client.upload(file.name)


def with_parts(spoken: Spoken, include: list[str] | None) -> Spoken:
    """Choose chapters of a document. A value is such as "2" or "3-40,42". Raises `Misuse`."""
    wanted = tuple(islice(_chapter_ids(include or ()), MOST_CHAPTERS + 1))
    if len(wanted) > MOST_CHAPTERS:
        raise Misuse(f"--include: at most {MOST_CHAPTERS:,} chapters; leave it out to read all")
    if not wanted:
        return spoken
    if not isinstance(spoken, DocumentFile):
        raise Misuse("--include needs a document with chapters; `rhapsode plan` shows them")
    from pydantic import TypeAdapter, ValidationError

    from rhapsode.contract.jobs.input import ChapterId

    for each in wanted:
        try:
            TypeAdapter(ChapterId).validate_python(each)
        except ValidationError as error:
            raise Misuse(f"--include: {each!r} {error.errors()[0]['msg']}") from error
    return replace(spoken, include=wanted)


def _chapter_ids(include: Iterable[str]) -> Iterator[str]:
    for part in (part.strip() for each in include for part in each.split(",") if part.strip()):
        found = _RANGE.fullmatch(part)
        if found is None:
            yield part
            continue
        first, last = int(found[1]), int(found[2])
        if first > last:
            raise Misuse(f"--include: {part!r} begins after its end; write {last}-{first}")
        yield from map(str, range(first, last + 1))


def choose_speakers(pairs: list[str]) -> dict[str, str]:
    """The voices of `NAME=VOICE` options by name. Raises `Misuse`."""
    cast: dict[str, str] = {}
    for pair in pairs:
        name, equals, voice = pair.partition("=")
        if not equals or not name.strip() or not voice.strip():
            raise Misuse(f"--speaker {pair!r}: write NAME=VOICE")
        if name.strip() in cast:
            raise Misuse(f"--speaker: {name.strip()!r} is named twice")
        cast[name.strip()] = voice.strip()
    return cast


def read_spoken(file: str, encoding: str | None = None, *, strict_ssml: bool = False) -> Spoken:
    """The content of a file, or of standard input ("-"). Raises `Misuse` for unreadable files."""
    if not file:
        raise Misuse("FILE is empty; name a file, or - for standard input")
    form = None if file == "-" else document_format(Path(file))
    if form in _NAMING_ENCODINGS and encoding is not None:
        raise Misuse(f"--encoding is for text files; {file} names the encodings of its parts")
    if form is not None:
        path = readable(Path(file))
        if encoding is not None:
            _decoded(path.read_bytes(), encoding, file)
        return DocumentFile(path, form, encoding=encoding)
    suffix = Path(file).suffix.lower()
    if kind := _OTHER_SUFFIXES.get(suffix):
        raise Misuse(f"{file} is {kind}")
    name = "standard input" if file == "-" else file
    data = _read_text(file, name)
    text = None if encoding is None else _decoded(data, encoding, name)
    if text is None and _NO_TEXT in data:
        raise Misuse(f"{name} is not a text file: it holds NUL bytes at offset {data.index(_NO_TEXT)}")
    if Path(file).is_file() and suffix != SSML_SUFFIX:
        # The server finds chapters in a text file, and its encoding.
        return DocumentFile(Path(file), "txt", encoding=encoding)
    if text is None:
        text = _decoded(data, "utf-16" if data.startswith(_UTF_16) else "utf-8-sig", name)
    return Ssml(text, "strict" if strict_ssml else "lenient") if suffix == SSML_SUFFIX else text


def _read_text(file: str, name: str) -> bytes:
    with reading(name):
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    if kind := _known_as(data):
        raise Misuse(f"{name} is {kind}; use text, Markdown, HTML, EPUB, DOCX, PDF or SSML")
    if not data.removeprefix(codecs.BOM_UTF8).strip():
        raise Misuse(f"{name} holds no text")
    return data


def _decoded(data: bytes, encoding: str, name: str) -> str:
    try:
        text = data.decode(encoding)
        text.encode()
    except UnicodeError as error:
        place = f" at byte {error.start:,}" if isinstance(error, UnicodeDecodeError) else ""
        raise Misuse(f"{name} is not text in {encoding}{place}; name its encoding with --encoding") from error
    except LookupError as error:
        known = "utf-16, cp1252, gb18030 or shift_jis"
        raise Misuse(f"--encoding: there is no {encoding!r}; names are such as {known}") from error
    return text


def _known_as(data: bytes) -> str | None:
    """The format of a binary file by its first bytes; None for text."""
    beginnings = _NEVER_TEXT | (_TEXT_UNLESS_BINARY if b"\0" in data else {})
    return next((name for beginning, name in beginnings.items() if data.startswith(beginning)), None)


def title_of(file: str) -> dict[str, str]:
    """The file's name as a job's metadata; empty for standard input and unprintable names."""
    stem = "" if file == "-" else Path(file).stem
    title = " ".join("".join(" " if unicodedata.category(each)[0] == "C" else each for each in stem).split())
    return {"title": title[:MOST_TITLE_CHARS]} if title else {}


def choose_output(file: str, output: Path | None) -> Path:
    """Raises `Misuse` for an unwritable path, before the work starts."""
    path = output or Path("narration.wav" if file == "-" else f"{Path(file).stem}.wav")
    if path.is_dir():
        raise Misuse(f"{path} is a folder; -o takes the name of a file")
    if not path.parent.is_dir():
        raise Misuse(f"{path.parent} is not a folder")
    if path.exists() and not path.is_file():
        raise Misuse(f"{path} is a device; -o takes the name of a file")
    from rhapsode.client.part_file import PartFile

    try:
        # Open the file: only that detects a read-only disk, or a name that is too long.
        with PartFile(path):
            return path
    except OSError as error:
        raise Misuse(f"{path} cannot be written: {error.strerror}") from error


def document_format(path: Path) -> DocumentFormat | None:
    """By the file's suffix; None for plain text."""
    return DOCUMENT_SUFFIXES.get(path.suffix.lower())
