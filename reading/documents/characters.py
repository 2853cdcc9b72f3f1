"""Bytes of a document to characters that can be spoken."""

from __future__ import annotations

import codecs
import re

from charset_normalizer import from_bytes

from reading.cleaning.letters import typed_letters
from reading.documents.errors import DocumentError
from reading.script.left_out import LeftOutList

_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
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


MOST_PATCHED = 0.01
"""Of a file's bytes: so many may be wrong in an encoding that is right."""

_PATCHED = "rhapsode.patched"
_PATCH = 0x10FF00
_PATCHES = re.compile(f"[{chr(_PATCH)}-{chr(_PATCH + 255)}]")
_WESTERN = "cp1252"
_MARKS = re.compile("[ \r\n,.，。、]")
_LEAST_MARKS = 0.01
"""In a byte of UTF-16."""

_SAMPLE_BYTES = 1 << 16
_COMMON_LEADS = {
    "gb18030": {*range(0xA1, 0xA4), *range(0xB0, 0xD8)},
    "big5": set(range(0xA1, 0xC7)),
    "shift_jis": {*range(0x81, 0x85), *range(0x88, 0x98)},
    "euc_jp": {*range(0xA1, 0xA6), *range(0xB0, 0xD0)},
    "cp949": {*range(0xA1, 0xA4), *range(0xB0, 0xC9)},
}
"""First bytes of marks and common letters."""

_LEAST_COMMON = 0.9
_GUESSED = ["cp1252", "cp1251", "koi8_r", "cp1250", "cp1253", "cp1254", *_COMMON_LEADS]
"""In the order of those that say the same."""


def decode_text(data: bytes, repairs: LeftOutList | None = None) -> str:
    """A text file: UTF-8, UTF-16, what the head of a transcribed book says, or a guess. Raises `DocumentError`."""
    return _decoded(data, _BOOK_CHARSET.search(data[:_HEAD_BYTES]), repairs, "the document")


def decode_markup(data: bytes, repairs: LeftOutList | None = None, name: str = "the document") -> str:
    """A file of HTML or XML, by its mark, else by what it declares, else as a text. Raises `DocumentError`."""
    head = data[:_HEAD_BYTES]
    return _decoded(data, _XML_DECLARATION.search(head) or _META_CHARSET.search(head), repairs, name)


def clean_text(text: str) -> str:
    """With letters as one types them, and without what cannot be spoken.

    Control characters become spaces, so that no words run together.
    """
    return _UNSPEAKABLE.sub(" ", _INVISIBLE.sub("", typed_letters(text)))


def _decoded(data: bytes, declared: re.Match[bytes] | None, repairs: LeftOutList | None, name: str) -> str:
    """repairs: gets what had to be guessed, with the byte where it was seen that the bytes are no text as declared."""
    mark = next((codec for mark, codec in _BOMS if data.startswith(mark)), None) or _unmarked_utf16(data)
    called = mark or (declared[1].decode("ascii") if declared else "utf-8")
    try:
        known = CODECS[codecs.lookup(called).name]
    except (KeyError, LookupError, OSError):
        known = CODECS["utf-8"]
        if repairs is not None:
            repairs.add("encoding that is not known, read as utf-8", f"{called!r} in {name}")
    codec = CODECS[_READ_AS.get(known.name, known.name)]
    try:
        return codec.decode(data, "strict")[0]
    except UnicodeDecodeError as error:
        said = f"declares {called}, but" if declared else "names no encoding and"
        guess = None if b"\0" in data else _guessed(data, codec)
        if guess is None:
            fault = f"the document {said} is not valid {codec.name} at byte {error.start:,}"
            raise DocumentError(f"{fault}; save it as UTF-8, if it is a text at all") from error
        if repairs is not None:
            repairs.add(f"text that is not {codec.name}, read as {guess[0]}", f"byte {error.start:,} of {name}")
        return guess[1]


def _unmarked_utf16(data: bytes) -> str | None:
    """Of a file with zeros, the order of bytes in which it has more marks and spaces."""
    head = data[:_HEAD_BYTES]
    if len(data) % 2 or b"\0" not in head:
        return None
    marks = {name: len(_MARKS.findall(head.decode(name, "replace"))) for name in ("utf-16-le", "utf-16-be")}
    name = max(marks, key=lambda name: marks[name])
    return name if marks[name] > _LEAST_MARKS * len(head) else None


def _guessed(data: bytes, codec: codecs.CodecInfo) -> tuple[str, str] | None:
    """The name of an encoding, and the text in it; None for bytes that seem to be no text."""
    patched, count = _PATCHES.subn(_western, codec.decode(data, _PATCHED)[0])
    if count <= MOST_PATCHED * len(data):
        return _WESTERN, patched
    sample = data[:_SAMPLE_BYTES]
    if len(data) > _SAMPLE_BYTES:
        sample = sample[: sample.rfind(b"\n") + 1] or sample
    matches = {name for match in from_bytes(sample, cp_isolation=_GUESSED) for name in match.could_be_from_charset}
    shares = {name: _common_share(sample, name) for name in _COMMON_LEADS if name in matches}
    narrow = [name for name in _GUESSED if name in matches - shares.keys()]
    likely = max(shares, key=lambda name: (shares[name], -len(_COMMON_LEADS[name])), default="")
    name = likely if shares.get(likely, 0) >= _LEAST_COMMON else next(iter(narrow), None)
    return None if name is None else (name, CODECS[codecs.lookup(name).name].decode(data, "replace")[0])


def _common_share(data: bytes, name: str) -> float:
    """Of the letters beyond ASCII: those which the encoding's makers took for common and put in front."""
    wide = [letter for letter in data.decode(name, "replace") if letter > "\x7f"]
    leads = _COMMON_LEADS[name]
    return sum(letter.encode(name, "replace")[0] in leads for letter in wide) / max(1, len(wide))


def _patch(error: UnicodeError) -> tuple[str, int]:
    """A byte that is wrong where it stands, kept apart from the letters of the text till it is known how many are."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "".join(chr(_PATCH + byte) for byte in error.object[error.start : error.end]), error.end


def _western(patch: re.Match[str]) -> str:
    return bytes([ord(patch[0]) - _PATCH]).decode(_WESTERN, "replace")


codecs.register_error(_PATCHED, _patch)
