"""PDFium, by its C functions: a document's pages as runs of letters with their places, its outline, what it says of
itself.

Only here its pointers are known. The library gets no folder of fonts, so that a page's letters are the same on every
machine and nothing is opened on first use.
"""

from __future__ import annotations

import ctypes
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pypdfium2_raw

from reading.documents.errors import DocumentError
from reading.documents.pdf.runs import Direction, PdfPage, Run, turned

MAX_PAGES = 5_000
MAX_CHARS = 2_000_000
"""Of all pages together: a thousand pages of a novel, and half of what a core reads in the time for one input."""

MAX_BOOKMARKS = 5_000
MAX_BOOKMARK_DEPTH = 2
_MOST_TITLE_BYTES = 2_000
_FARTHEST = 1e5
"""Points; paper has at most 14,400."""

_pdfium: Any = pypdfium2_raw
_BREAKS = frozenset({0, 9, 10, 13, 32, 0xA0, 0x3000, 0xFFFE, 0xFFFF})
_APART = frozenset("0123456789*†‡§¶+−-")
"""What may be raised: a power or a note's mark is a separate run."""

_LINE_END_HYPHEN = 2
"""What PDFium makes of a hyphen at a line's end."""

_BOLD_WEIGHT = 600
_BOLD_NAME = re.compile(rb"bold|black|heavy|demi|CMBX|SFBX|LMBX", re.IGNORECASE)
_MOST_FONT_NAME = 200
_RISE = 0.5
_LEAST_LEADING = 5.0
"""Points: numbers in a margin stand below each other."""

_HYPHEN = "-"


@dataclass(frozen=True, slots=True)
class Bookmark:
    """An entry of the outline. level: 1 for the first. page: from 0; -1 where it leads nowhere. top: on that page."""

    title: str
    level: int
    page: int
    top: float


def _begin() -> None:
    """Once in a process."""
    fonts = (ctypes.POINTER(ctypes.c_char) * 1)()
    config = _pdfium.FPDF_LIBRARY_CONFIG(version=2, m_pUserFontPaths=fonts)
    _pdfium.FPDF_InitLibraryWithConfig(ctypes.byref(config))


_begin()


class PdfFile:
    """Raises `DocumentError` for what cannot be opened. The process ends soon, so nothing is closed but pages."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        """PDFium reads from it as long as the document is open."""

        self._document = _pdfium.FPDF_LoadMemDocument64(data, len(data), None)
        if not self._document:
            raise _refusal()
        self.num_pages = int(_pdfium.FPDF_GetPageCount(self._document))
        if not 0 < self.num_pages <= MAX_PAGES:
            raise DocumentError(f"the PDF has {self.num_pages:,} pages; 1 to {MAX_PAGES:,} are read")
        self._chars = 0
        self.damaged: list[int] = []
        """Indexes of pages that cannot be read, as far as they were asked for."""

    def pages(self) -> Iterator[PdfPage]:
        for index in range(self.num_pages):
            page = _pdfium.FPDF_LoadPage(self._document, index)
            text = _pdfium.FPDFText_LoadPage(page) if page else None
            if not text:
                self.damaged.append(index)
                continue
            self._count(text, index)
            yield PdfPage(index, _upright(list(_Letters(text).runs())))
            _pdfium.FPDFText_ClosePage(text)
            _pdfium.FPDF_ClosePage(page)

    def said(self, name: str) -> str:
        """Of the document, under this name: Title, Author."""
        return _text(lambda buffer, size: _pdfium.FPDF_GetMetaText(self._document, name.encode(), buffer, size))

    @property
    def language(self) -> str:
        def ask(buffer: ctypes.Array[ctypes.c_char], size: int) -> int:
            units = ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort))
            return int(_pdfium.FPDFCatalog_GetLanguage(self._document, units, size))

        return _text(ask)

    def outline(self) -> list[Bookmark]:
        """In reading order, its first levels."""
        found: list[Bookmark] = []
        waiting = [(self._first_below(None), 1)]
        while waiting and len(found) < MAX_BOOKMARKS:
            bookmark, level = waiting.pop()
            if not bookmark:
                continue
            found.append(self._entry(bookmark, level))
            waiting.append((_pdfium.FPDFBookmark_GetNextSibling(self._document, bookmark), level))
            if level < MAX_BOOKMARK_DEPTH:
                waiting.append((self._first_below(bookmark), level + 1))
        return found

    def _first_below(self, bookmark: object) -> object:
        return _pdfium.FPDFBookmark_GetFirstChild(self._document, bookmark)

    def _entry(self, bookmark: object, level: int) -> Bookmark:
        title = _text(lambda buffer, size: _pdfium.FPDFBookmark_GetTitle(bookmark, buffer, size))
        target = _pdfium.FPDFBookmark_GetDest(self._document, bookmark)
        page = int(_pdfium.FPDFDest_GetDestPageIndex(self._document, target)) if target else -1
        return Bookmark(" ".join(title.split()), level, page, _top(target) if page >= 0 else math.inf)

    def _count(self, text: object, index: int) -> None:
        self._chars += max(0, int(_pdfium.FPDFText_CountChars(text)))
        if self._chars > MAX_CHARS:
            raise DocumentError(
                f"the PDF has more than {MAX_CHARS:,} characters up to page {index + 1}", "text_too_long"
            )


def _refusal() -> DocumentError:
    if _pdfium.FPDF_GetLastError() in (_pdfium.FPDF_ERR_PASSWORD, _pdfium.FPDF_ERR_SECURITY):
        return DocumentError("the PDF is locked with a password; save it without one")
    return DocumentError("the file is not a PDF, or a damaged one")


class _Letters:
    """A page's letters in the order of its drawing. The buffers are PDFium's answers, used again for each."""

    def __init__(self, text: Any) -> None:  # noqa: ANN401 - a pointer of PDFium's
        self._text = text
        self._x, self._y = ctypes.c_double(), ctypes.c_double()
        self._first, self._last, self._matrix = _pdfium.FS_RECTF(), _pdfium.FS_RECTF(), _pdfium.FS_MATRIX()
        self._font_name, self._flags = ctypes.create_string_buffer(_MOST_FONT_NAME), ctypes.c_int()

    def runs(self) -> Iterator[Run]:
        """Letters of one kind without a space between them."""
        unicode_of, text = _pdfium.FPDFText_GetUnicode, self._text
        letters: list[str] = []
        first, follows_space, kind = 0, True, False
        for index in range(max(0, _pdfium.FPDFText_CountChars(text))):
            code = unicode_of(text, index)
            if code in _BREAKS or 0xD800 <= code < 0xE000:
                if letters:
                    yield from self._run(first, "".join(letters), follows_space=follows_space)
                letters, follows_space = [], True
                continue
            letter = _HYPHEN if code == _LINE_END_HYPHEN else chr(code)
            new_kind = letter in _APART
            if letters and (new_kind is not kind or (kind and self._is_higher(first, index))):
                yield from self._run(first, "".join(letters), follows_space=follows_space)
                letters, follows_space = [], False
            if not letters:
                first, kind = index, new_kind
            letters.append(letter)
            if code == _LINE_END_HYPHEN:
                yield from self._run(first, "".join(letters), follows_space=follows_space)
                letters, follows_space = [], True
        if letters:
            yield from self._run(first, "".join(letters), follows_space=follows_space)

    def _is_higher(self, first: int, index: int) -> bool:
        """Or lower: 10 to the 6th is drawn without a space."""
        _pdfium.FPDFText_GetCharOrigin(self._text, first, self._x, self._y)
        x, y = self._x.value, self._y.value
        _pdfium.FPDFText_GetCharOrigin(self._text, index, self._x, self._y)
        rise = abs(self._y.value - y)
        return rise > _RISE and (abs(self._x.value - x) > _RISE or rise > _LEAST_LEADING)

    def _run(self, first: int, letters: str, *, follows_space: bool) -> Iterator[Run]:
        text, one, other, matrix = self._text, self._first, self._last, self._matrix
        _pdfium.FPDFText_GetCharOrigin(text, first, self._x, self._y)
        _pdfium.FPDFText_GetLooseCharBox(text, first, one)
        _pdfium.FPDFText_GetLooseCharBox(text, first + len(letters) - 1, other)
        _pdfium.FPDFText_GetMatrix(text, first, matrix)
        size = _pdfium.FPDFText_GetFontSize(text, first) * math.hypot(matrix.c, matrix.d)
        box = (
            *(min(one.left, other.left), min(one.bottom, other.bottom)),
            *(max(one.right, other.right), max(one.top, other.top)),
        )
        x, y = self._x.value, self._y.value
        # What is no number is not below, either.
        if not max(map(abs, (*box, x, y, size))) < _FARTHEST or math.isnan(sum(box) + x + y) or size <= 0:
            return
        direction = Direction.of(matrix.a, matrix.b)
        left, right, baseline = turned(box, (x, y), direction)
        is_unknown = _pdfium.FPDFText_HasUnicodeMapError(text, first) == 1
        yield Run(letters, left, right, baseline, size, self._is_bold(first), follows_space, direction, is_unknown)

    def _is_bold(self, index: int) -> bool:
        """By its font's weight; by its name where that says more."""
        if _pdfium.FPDFText_GetFontWeight(self._text, index) >= _BOLD_WEIGHT:
            return True
        size = _pdfium.FPDFText_GetFontInfo(self._text, index, self._font_name, _MOST_FONT_NAME, self._flags)
        return 0 < size <= _MOST_FONT_NAME and _BOLD_NAME.search(self._font_name.value) is not None


def _upright(runs: list[Run]) -> list[Run]:
    """Those that stand as most of the page does: what runs up its edge is no line of it."""
    counts = Counter[Direction]()
    for run in runs:
        counts[run.direction] += len(run.text)
    most = max(counts, key=lambda direction: counts[direction]) if counts else Direction.RIGHT
    return [run for run in runs if run.direction is most]


def _top(target: object) -> float:
    """How high on its page a bookmark leads; its very top where it does not say."""
    has_x, has_y, has_zoom = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    x, y, zoom = ctypes.c_float(), ctypes.c_float(), ctypes.c_float()
    _pdfium.FPDFDest_GetLocationInPage(target, has_x, has_y, has_zoom, x, y, zoom)
    return y.value if has_y.value and math.isfinite(y.value) else math.inf


def _text(ask: Callable[[ctypes.Array[ctypes.c_char], int], int]) -> str:
    """What it writes in UTF-16 into a buffer of ours."""
    buffer = ctypes.create_string_buffer(_MOST_TITLE_BYTES)
    size = int(ask(buffer, _MOST_TITLE_BYTES))
    if not 2 < size <= _MOST_TITLE_BYTES:
        return ""
    return buffer.raw[: size - 2].decode("utf-16-le", errors="replace").replace("\ufffd", "")
