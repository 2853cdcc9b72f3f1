"""Bytes of a document to characters that can be spoken."""

from __future__ import annotations

import codecs
import re

from reading.documents.errors import DocumentError

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_XML_DECLARATION = re.compile(rb"""^\s*<\?xml[^>]*?encoding\s*=\s*["']([A-Za-z0-9._-]{1,40})["']""")
_META_CHARSET = re.compile(rb"""<meta[^>]+?charset\s*=\s*["']?\s*([A-Za-z0-9._-]{1,40})""", re.IGNORECASE)
_BOOK_CHARSET = re.compile(rb"""^Character set encoding:[ \t]{1,8}([A-Za-z0-9._-]{1,40})""", re.MULTILINE)
"""In the header of Project Gutenberg."""

_HEAD_BYTES = 2_048

_KNOWN = (
    *("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "ascii", "cp1252", "cp1251", "cp1250", "cp1253"),
    *("cp1254", "cp1257", "cp949", "cp932", "iso8859-1", "iso8859-2", "iso8859-5", "iso8859-15", "koi8-r", "cp437"),
    *("shift_jis", "euc_jp", "euc_kr", "gb18030", "gbk", "gb2312", "big5"),
)
CODECS = {codecs.lookup(name).name: codecs.lookup(name) for name in _KNOWN}
"""Loaded here: the process that reads documents cannot open a file any more when it meets the name of one."""

# What the standard for HTML says a page means by the name.
_READ_AS = {"iso8859-1": "cp1252", "ascii": "cp1252", "gb2312": "gb18030", "gbk": "gb18030"}

_UNSPEAKABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffd\ufffe\uffff]")
_INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff\u202a-\u202e\u2066-\u2069]")
"""Soft hyphens, zero widths and the controls of writing direction: on paper they are not seen either."""


def decode_text(data: bytes) -> str:
    """A text file: UTF-8, UTF-16 with its mark, or what the head of a transcribed book says. Raises `DocumentError`."""
    name = _by_mark(data)
    declared = _BOOK_CHARSET.search(data[:_HEAD_BYTES])
    if name is None and declared is not None:
        return _decoded(data, declared[1].decode("ascii"), declared=True)
    return _decoded(data, name or "utf-8", declared=False)


def decode_markup(data: bytes) -> str:
    """A file of HTML or XML, by its mark, else by what it declares, else UTF-8. Raises `DocumentError`."""
    head = data[:_HEAD_BYTES]
    name = _by_mark(data)
    declared = _XML_DECLARATION.search(head) or _META_CHARSET.search(head)
    if name is None and declared is not None:
        return _decoded(data, declared[1].decode("ascii"), declared=True)
    return _decoded(data, name or "utf-8", declared=False)


def clean_text(text: str) -> str:
    """Without what cannot be spoken; control characters become spaces, so that no words run together."""
    return _UNSPEAKABLE.sub(" ", _INVISIBLE.sub("", text))


def _by_mark(data: bytes) -> str | None:
    return next((name for mark, name in _BOMS if data.startswith(mark)), None)


def _decoded(data: bytes, name: str, *, declared: bool) -> str:
    try:
        known = CODECS[codecs.lookup(name).name]
    except (KeyError, LookupError, OSError) as error:
        raise DocumentError(f"the document declares the encoding {name!r}, which is not supported") from error
    codec = CODECS[_READ_AS.get(known.name, known.name)]
    try:
        return codec.decode(data, "strict")[0]
    except UnicodeDecodeError as error:
        said = f"declares {name}, but" if declared else "names no encoding and"
        raise DocumentError(f"the document {said} is not valid {codec.name} at byte {error.start:,}") from error
