"""PDF files made for a test: bytes of pages on which letters are set at places."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

PLAIN, BOLD = "F1", "F2"


@dataclass(frozen=True, slots=True)
class Set:
    """Letters at a place: x from the left, y from the foot, in points."""

    x: float
    y: float
    text: str
    size: float = 10
    font: str = PLAIN


def column(
    lines: Sequence[str], x: float = 72, y: float = 720, size: float = 10, leading: float = 12, font: str = PLAIN
) -> list[Set]:
    """One below the other. A line's blanks at its start are its indent."""
    return [
        Set(x + 6 * (len(line) - len(line.lstrip())), y - leading * number, line.strip(), size, font)
        for number, line in enumerate(lines)
        if line.strip()
    ]


def paper(
    pages: Sequence[Sequence[Set]],
    properties: Mapping[str, str] | None = None,
    outline: Sequence[tuple[str, int]] = (),
    catalog: str = "",
) -> bytes:
    """outline: titles and the pages, from 0, that they lead to."""
    objects: dict[int, bytes] = {
        3: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
        4: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica-Bold/Encoding/WinAnsiEncoding>>",
        5: _properties(properties or {}),
    }
    page_numbers = [10 + 2 * index for index in range(len(pages))]
    for number, letters in zip(page_numbers, pages, strict=True):
        drawing = zlib.compress("\n".join(map(_drawn, letters)).encode("cp1252"))
        objects[number] = (
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R/F2 4 0 R>>>>"
            b"/Contents %d 0 R>>" % (number + 1)
        )
        objects[number + 1] = b"<</Length %d/Filter/FlateDecode>>stream\n%b\nendstream" % (len(drawing), drawing)
    kids = " ".join(f"{number} 0 R" for number in page_numbers)
    objects[2] = f"<</Type/Pages/Count {len(pages)}/Kids[{kids}]>>".encode()
    objects |= _outline(outline, 10 + 2 * len(pages), page_numbers)
    outlines = f"/Outlines {10 + 2 * len(pages)} 0 R" if outline else ""
    objects[1] = f"<</Type/Catalog/Pages 2 0 R{outlines}{catalog}>>".encode()
    return _file(objects)


def _properties(properties: Mapping[str, str]) -> bytes:
    return f"<<{''.join(f'/{name}({value})' for name, value in properties.items())}>>".encode("cp1252")


def _outline(entries: Sequence[tuple[str, int]], first: int, pages: Sequence[int]) -> dict[int, bytes]:
    if not entries:
        return {}
    last = first + len(entries)
    made = {first: f"<</First {first + 1} 0 R/Last {last} 0 R/Count {len(entries)}>>".encode()}
    for number, (title, page) in enumerate(entries, first + 1):
        following = f"/Next {number + 1} 0 R" if number < last else ""
        place = f"/Dest[{pages[page]} 0 R/Fit]"
        made[number] = f"<</Title({title})/Parent {first} 0 R{place}{following}>>".encode("cp1252")
    return made


def _drawn(letters: Set) -> str:
    text = letters.text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
    return f"BT /{letters.font} {letters.size} Tf 1 0 0 1 {letters.x} {letters.y} Tm ({text}) Tj ET"


def _file(objects: Mapping[int, bytes]) -> bytes:
    data = b"%PDF-1.7\n"
    places: dict[int, int] = {}
    for number, content in sorted(objects.items()):
        places[number] = len(data)
        data += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    table = "".join(
        f"{places[number]:010} 00000 n \n" if number in places else "0000000000 65535 f \n"
        for number in range(max(objects) + 1)
    )
    trailer = f"trailer<</Size {max(objects) + 1}/Root 1 0 R/Info 5 0 R>>\nstartxref\n{len(data)}\n%%EOF\n"
    return data + f"xref\n0 {max(objects) + 1}\n{table}".encode() + trailer.encode()
