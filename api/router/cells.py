"""The cells of an installation, as its settings name them. Pure.

`a=http://10.0.0.1:8765,b=http://10.0.0.2:8765;draining,c=https://c.example;weight=2`
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from storage.ids import CELL_NAME

MAX_WEIGHT = 1000


@dataclass(frozen=True, slots=True)
class Cell:
    """url: of its API, without a path. weight: how much it takes beside others. One that drains takes nothing new."""

    name: str
    url: str
    weight: int = 1
    is_draining: bool = False


@dataclass(frozen=True, slots=True)
class Fleet:
    """All cells by name, in the order of their names; at least one of them is not draining."""

    by_name: Mapping[str, Cell]

    def __iter__(self) -> Iterator[Cell]:
        return iter(self.by_name.values())

    @property
    def active(self) -> tuple[Cell, ...]:
        return tuple(cell for cell in self if not cell.is_draining)


def parse_cells(text: str) -> Fleet:
    """Raises `ValueError` that says which entry is at fault."""
    entries = [entry.strip() for entry in text.split(",") if entry.strip()]
    cells = sorted((_parse_cell(entry) for entry in entries), key=lambda cell: cell.name)
    by_name = {cell.name: cell for cell in cells}
    if len(by_name) < len(cells):
        raise ValueError("every cell has a name of its own")
    fleet = Fleet(by_name)
    if not fleet.active:
        raise ValueError("at least one cell must not be draining")
    return fleet


def _parse_cell(entry: str) -> Cell:
    place, *options = entry.split(";")
    name, equals, url = place.partition("=")
    if not equals or not CELL_NAME.fullmatch(name):
        raise ValueError(f"{entry[:80]!r} must be name=url, the name 1 to 8 of a-z 0-9")
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.path.strip("/") or parts.query:
        raise ValueError(f"the cell {name} must be at http://host or https://host, without a path")
    weight, is_draining = 1, False
    for option in options:
        match option.strip().split("="):
            case ["draining"]:
                is_draining = True
            case ["weight", number] if number.isdecimal() and 1 <= int(number) <= MAX_WEIGHT:
                weight = int(number)
            case _:
                raise ValueError(
                    f"the cell {name} has {option[:40]!r}; it can have draining, and weight=1 to {MAX_WEIGHT}"
                )
    return Cell(name, url.rstrip("/"), weight, is_draining)
