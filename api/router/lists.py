"""Lists whose entries lie in several cells, page by page. Pure.

Every cell is asked for a page, the pages are merged by their entries' ids, which sort by time in all cells alike, and
what does not fit is asked for again: the cursor says for each cell where its part goes on. A page ends where the first
of the cells has looked no further: what another found beyond may not be next. Built-in voices, which every cell names
and which have no id, are told once.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from api.http.cursors import encode_cursor

_BEGINNING = ""
_END = None

Place = str | None
"""Where a cell's part goes on: its own cursor, "" for its beginning, None where it has ended."""

Entry = dict[str, Any]


class BadCursor(ValueError):
    """No merged list gave it out."""


@dataclass(frozen=True, slots=True)
class CellPage:
    """As a cell answered it."""

    data: tuple[Entry, ...]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class MergedPage:
    data: tuple[Entry, ...]
    next_cursor: str | None


def decode_places(cursor: str | None) -> dict[str, Place]:
    """By the cell's name; cells that are not in it have yet to begin. Raises `BadCursor`."""
    if cursor is None:
        return {}
    try:
        found = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError) as error:
        raise BadCursor(cursor) from error
    if not isinstance(found, dict) or not all(place is None or isinstance(place, str) for place in found.values()):
        raise BadCursor(cursor)
    return found


def merge_pages(
    pages: Mapping[str, CellPage], places: Mapping[str, Place], limit: int, *, newest_first: bool
) -> MergedPage:
    """The first `limit` entries of all pages, and where each cell's part goes on behind them.

    places: where the pages began. A cell without a page, because it does not answer, goes on where it would have.
    """
    shared = _without_id(pages)
    entries = {(entry["id"], cell): entry for cell, page in pages.items() for entry in page.data if entry.get("id")}
    ends = [_position(page.next_cursor) for page in pages.values() if page.next_cursor is not None]
    horizon = (max(ends) if newest_first else min(ends)) if ends else None
    known = [each for each in entries if horizon is None or _is_within(each[0], horizon, newest_first=newest_first)]
    taken = sorted(known, reverse=newest_first)[:limit]
    after = {cell: _next_place(cell, page, places, set(taken)) for cell, page in pages.items()}
    goes_on = {**places, **after}
    data = (*shared, *(entries[each] for each in taken))
    is_over = all(place is _END for place in goes_on.values())
    return MergedPage(data, None if is_over else _encode_places(goes_on))


def _without_id(pages: Mapping[str, CellPage]) -> tuple[Entry, ...]:
    named = {str(entry.get("name")): entry for page in pages.values() for entry in page.data if not entry.get("id")}
    return tuple(named.values())


def _position(cursor: str) -> str:
    """The id behind which a cell's part goes on."""
    return base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()


def _is_within(entry: str, horizon: str, *, newest_first: bool) -> bool:
    return entry >= horizon if newest_first else entry <= horizon


def _next_place(cell: str, page: CellPage, places: Mapping[str, Place], taken: set[tuple[str, str]]) -> Place:
    ids = [entry["id"] for entry in page.data if entry.get("id")]
    last = [each for each in ids if (each, cell) in taken]
    if len(last) == len(ids):
        return page.next_cursor
    # An entry's id is a cursor of each of these lists.
    return encode_cursor(last[-1]) if last else places.get(cell, _BEGINNING)


def _encode_places(places: Mapping[str, Place]) -> str:
    return base64.urlsafe_b64encode(json.dumps(places, separators=(",", ":")).encode()).decode().rstrip("=")
