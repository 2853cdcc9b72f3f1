"""Lists whose entries lie in several cells, page by page. Pure.

Every cell is asked for a page, the pages are merged by their entries' places, which sort in all cells alike, and
what does not fit is asked for again: the cursor says for each cell where its part goes on. A page ends where the first
of the cells has looked no further: what another found beyond may not be next. Built-in voices, which every cell names
and which have no id, are told once.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from api.http.cursors import encode_cursor

_BEGINNING = ""
_END = None

Place = str | None
"""Where a cell's part goes on: its own cursor, "" for its beginning, None where it has ended."""

Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Listing:
    """One list of the API. place_of: where an entry stands, which is a cursor too; None of one that all cells have.

    has_pages: or all of it is one answer, without a cursor.
    """

    place_of: Callable[[Entry], str | None]
    newest_first: bool = True
    has_pages: bool = True


def by_id(entry: Entry) -> str | None:
    """Ids sort by the time at which they were made."""
    return entry.get("id")


def by_voice_cache(entry: Entry) -> str | None:
    return f"{entry['voice']}|{entry['mode']}|{entry['model']}"


LISTINGS = {
    "/v1/jobs": Listing(by_id),
    "/v1/batches": Listing(by_id),
    "/v1/voices": Listing(by_id),
    "/v1/voice-caches": Listing(by_voice_cache, newest_first=False),
    "/v1/consents": Listing(by_id),
    "/v1/pronunciation-dictionaries": Listing(by_id, newest_first=False),
    "/v1/webhook-endpoints": Listing(by_id, has_pages=False),
}
"""By path: those whose entries may lie in any cell."""


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
    except (ValueError, RecursionError) as error:
        raise BadCursor(cursor) from error
    if not isinstance(found, dict) or not all(place is None or isinstance(place, str) for place in found.values()):
        raise BadCursor(cursor)
    return found


def merge_pages(
    pages: Mapping[str, CellPage], places: Mapping[str, Place], limit: int | None, listing: Listing
) -> MergedPage:
    """The first `limit` entries of all pages, and where each cell's part goes on behind them.

    places: where the pages began. A cell without a page, because it does not answer, goes on where it would have, if
    the list goes on elsewhere.
    limit: None for all.
    """
    newest_first = listing.newest_first
    shared = {
        str(entry.get("name")): entry for page in pages.values() for entry in page.data if not listing.place_of(entry)
    }
    entries = {
        (place, cell): entry
        for cell, page in pages.items()
        for entry in page.data
        if (place := listing.place_of(entry))
    }
    ends = [_position(page.next_cursor) for page in pages.values() if page.next_cursor is not None]
    horizon = (max(ends) if newest_first else min(ends)) if ends else None
    known = [each for each in entries if horizon is None or _is_within(each[0], horizon, newest_first=newest_first)]
    taken = sorted(known, reverse=newest_first)[:limit]
    after = {cell: _next_place(cell, page, places, set(taken), listing) for cell, page in pages.items()}
    goes_on = {**places, **after}
    data = (*shared.values(), *(entries[each] for each in taken))
    # A client that pages on is not to ask again and again for one that is away.
    is_over = all(place is _END for place in after.values())
    return MergedPage(data, None if is_over else _encode_places(goes_on))


def _position(cursor: str) -> str:
    """The entry behind which a cell's part goes on."""
    return base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()


def _is_within(entry: str, horizon: str, *, newest_first: bool) -> bool:
    return entry >= horizon if newest_first else entry <= horizon


def _next_place(
    cell: str, page: CellPage, places: Mapping[str, Place], taken: set[tuple[str, str]], listing: Listing
) -> Place:
    found = [place for entry in page.data if (place := listing.place_of(entry))]
    last = [each for each in found if (each, cell) in taken]
    if len(last) == len(found):
        return page.next_cursor
    return encode_cursor(last[-1]) if last else places.get(cell, _BEGINNING)


def _encode_places(places: Mapping[str, Place]) -> str:
    return base64.urlsafe_b64encode(json.dumps(places, separators=(",", ":")).encode()).decode().rstrip("=")
