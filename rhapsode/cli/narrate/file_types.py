"""Files that are no text, known by how they begin, so that the refusal can say what they are. Pure."""

from __future__ import annotations

_NEVER_TEXT = {
    b"%PDF-": "a PDF",
    b"{\\rtf": "a rich text (RTF)",
    b"PK\x03\x04": "an archive or an office document",
    b"\xd0\xcf\x11\xe0": "an office document",
    b"\xff\xfe": "a text in UTF-16",
    b"\xfe\xff": "a text in UTF-16",
}
_TEXT_UNLESS_BINARY = {b"RIFF": "a recording", b"fLaC": "a recording", b"OggS": "a recording", b"ID3": "a recording"}
"""A text may begin with these letters, and then it has no NUL byte."""


def known_as(data: bytes) -> str | None:
    """What a file with these bytes is; None for what may be a text in UTF-8."""
    beginnings = _NEVER_TEXT | (_TEXT_UNLESS_BINARY if b"\0" in data else {})
    return next((name for beginning, name in beginnings.items() if data.startswith(beginning)), None)
