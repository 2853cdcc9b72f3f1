"""The ZIP file around a book, read within bounds. Names in it are looked up, never opened on a disk."""

from __future__ import annotations

import io
import posixpath
import struct
import unicodedata
import zipfile
import zlib
from urllib.parse import unquote

from reading.documents.errors import DocumentError

MAX_ENTRIES = 20_000
MAX_ENTRY_BYTES = 64 << 20
MAX_TOTAL_BYTES = 256 << 20
MAX_RATIO = 200
"""Bytes out for a byte in. Markup of books shrinks about four times, and a page of one repeated word 100 times."""

_RATIO_FREE_BYTES = 1 << 20
_DAMAGE = (zipfile.BadZipFile, zlib.error, struct.error, RuntimeError, NotImplementedError, EOFError, ValueError)
"""What the standard library raises for a damaged archive: RuntimeError for encryption, ValueError for wrong offsets."""

_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class Archive:
    """Entries by name. kind: of the document, for the messages. Raises `DocumentError` for what is wrong with it."""

    def __init__(self, data: bytes, kind: str) -> None:
        self._kind = kind
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except _DAMAGE as error:
            raise DocumentError(f"the {self._kind} is not a ZIP file, or a damaged one: {error}") from error
        entries = self._zip.infolist()
        if len(entries) > MAX_ENTRIES:
            raise DocumentError(f"the {self._kind} has {len(entries):,} files; at most {MAX_ENTRIES:,} are read")
        # What is written exactly so comes first.
        self._entries = {_key(entry.filename): entry for entry in entries} | {each.filename: each for each in entries}
        self._total = 0

    def find(self, name: str) -> bytes | None:
        """None if there is no such file."""
        entry = self._entry(name)
        return None if entry is None or entry.is_dir() else self._read(entry)

    def find_ending(self, suffix: str) -> str | None:
        """The first name that ends so."""
        return next((name for name in self._entries if name.endswith(suffix)), None)

    def resolve(self, base: str, href: str) -> tuple[str, str]:
        """As `resolve_name`, with the name as the archive has it, if it has such a file."""
        name, fragment = resolve_name(base, href)
        entry = self._entry(name)
        return name if entry is None else entry.filename, fragment

    def _entry(self, name: str) -> zipfile.ZipInfo | None:
        return self._entries.get(name) or self._entries.get(_key(name))

    def read(self, name: str) -> bytes:
        data = self.find(name)
        if data is None:
            raise DocumentError(f"the {self._kind} has no file {name[:200]!r}")
        return data

    def _read(self, entry: zipfile.ZipInfo) -> bytes:
        self._check(entry)
        if self._total > MAX_TOTAL_BYTES:
            raise DocumentError(f"the {self._kind} unpacks to more than {MAX_TOTAL_BYTES >> 20} MiB")
        try:
            with self._zip.open(entry) as file:
                data = file.read(MAX_ENTRY_BYTES + 1)
        except _DAMAGE as error:
            raise DocumentError(f"{entry.filename[:200]!r} in the {self._kind} cannot be unpacked: {error}") from error
        self._total += len(data)
        return data

    def _check(self, entry: zipfile.ZipInfo) -> None:
        name = entry.filename[:200]
        if entry.flag_bits & 1:
            raise DocumentError(f"{name!r} in the {self._kind} is encrypted")
        if entry.compress_type not in _METHODS:
            raise DocumentError(f"{name!r} in the {self._kind} is compressed in a way that {self._kind} does not have")
        if entry.file_size > MAX_ENTRY_BYTES:
            raise DocumentError(f"{name!r} in the {self._kind} unpacks to more than {MAX_ENTRY_BYTES >> 20} MiB")
        if entry.file_size > _RATIO_FREE_BYTES and entry.file_size > MAX_RATIO * max(1, entry.compress_size):
            raise DocumentError(f"{name!r} in the {self._kind} unpacks to more than {MAX_RATIO} times its size")


def resolve_name(base: str, href: str) -> tuple[str, str]:
    """The name of a file and the fragment that `href` means in the file `base`; what climbs out names nothing."""
    path, _, fragment = href.partition("#")
    if not path:
        return base, unquote(fragment)
    joined = posixpath.join(posixpath.dirname(base.replace("\\", "/")), unquote(path).replace("\\", "/"))
    return posixpath.normpath(joined), unquote(fragment)


def _key(name: str) -> str:
    """As names are compared: makers of books differ in slashes, percent signs, capitals and accents."""
    return unicodedata.normalize("NFC", posixpath.normpath(unquote(name).replace("\\", "/"))).casefold()
