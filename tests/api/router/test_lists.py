"""Pages of several cells as one list."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.http.cursors import encode_cursor
from api.router.lists import BadCursor, CellPage, Listing, Place, by_id, by_voice_cache, decode_places, merge_pages

NUMBERS = st.sets(st.integers(0, 999), max_size=30)


def page_of(ids: list[str], place: Place, limit: int, is_shown: set[str], *, newest_first: bool) -> CellPage:
    """As a cell lists: `limit` entries are looked at from the cursor on, and those that a filter passes are shown."""
    ordered = sorted(ids, reverse=newest_first)
    begun = [each for each in ordered if not place or (each < after(place) if newest_first else each > after(place))]
    looked_at = begun[:limit]
    cursor = encode_cursor(looked_at[-1]) if len(begun) > limit else None
    return CellPage(tuple({"id": each} for each in looked_at if each in is_shown), cursor)


def after(cursor: str) -> str:
    return base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()


@given(st.lists(NUMBERS, min_size=1, max_size=5), st.integers(1, 8), st.booleans(), st.sets(st.integers(0, 999)))
def test_every_entry_comes_once_and_in_order(
    numbers: list[set[int]], limit: int, newest_first: bool, hidden: set[int]
) -> None:
    cells = {f"{chr(97 + i)}": [f"job_{n:04d}_{chr(97 + i)}" for n in each] for i, each in enumerate(numbers)}
    shown = {each for ids in cells.values() for each in ids if int(each[4:8]) not in hidden}

    found: list[str] = []
    cursor: str | None = None
    for _ in range(1000):
        places = dict.fromkeys(cells, "") | decode_places(cursor)
        asked = {name: place for name, place in places.items() if place is not None}
        pages = {
            name: page_of(cells[name], place, limit, shown, newest_first=newest_first) for name, place in asked.items()
        }
        merged = merge_pages(pages, places, limit, Listing(by_id, newest_first=newest_first))
        assert len(merged.data) <= limit
        found += [entry["id"] for entry in merged.data]
        cursor = merged.next_cursor
        if cursor is None:
            break

    assert cursor is None
    assert found == sorted(shown, reverse=newest_first)


def test_a_cell_that_does_not_answer_goes_on_where_it_was() -> None:
    page = CellPage(({"id": "job_1_a"},), encode_cursor("job_1_a"))

    merged = merge_pages({"a": page}, {"a": "", "b": "eA"}, 5, Listing(by_id))

    assert [entry["id"] for entry in merged.data] == ["job_1_a"]
    assert decode_places(merged.next_cursor) == {"a": encode_cursor("job_1_a"), "b": "eA"}


def test_a_list_ends_without_a_cell_that_does_not_answer() -> None:
    merged = merge_pages({"a": CellPage(({"id": "job_1_a"},), None)}, {"a": "", "b": "eA"}, 5, Listing(by_id))

    assert merged.next_cursor is None


def test_what_every_cell_names_without_an_id_is_told_once() -> None:
    built_in = {"id": None, "name": "Alice"}
    pages = {name: CellPage((built_in, {"id": f"voc_1_{name}"}), None) for name in "ab"}

    merged = merge_pages(pages, {}, 5, Listing(by_id))

    assert merged.data == (built_in, {"id": "voc_1_b"}, {"id": "voc_1_a"})
    assert merged.next_cursor is None


def test_a_list_without_pages_is_told_whole() -> None:
    pages = {name: CellPage(tuple({"id": f"whe_{n}_{name}"} for n in range(40, 0, -1)), None) for name in "ab"}

    merged = merge_pages(pages, {}, None, Listing(by_id, has_pages=False))

    assert len(merged.data) == 80
    assert merged.data[0] == {"id": "whe_9_b"}
    assert merged.next_cursor is None


def test_caches_are_in_the_order_of_their_voices_and_go_on_behind_one() -> None:
    caches = [{"voice": f"voc_{n}", "mode": mode, "model": "m"} for n in (1, 3) for mode in ("in_context", "x_vector")]
    pages = {
        "a": CellPage(tuple(caches[:2]), encode_cursor("voc_1|x_vector|m")),
        "b": CellPage(tuple(caches[2:]), None),
    }

    merged = merge_pages(pages, {}, 3, Listing(by_voice_cache, newest_first=False))

    assert merged.data == tuple(caches[:2])
    assert decode_places(merged.next_cursor) == {"a": encode_cursor("voc_1|x_vector|m"), "b": ""}


@pytest.mark.parametrize("cursor", ["", "eA", "!", "WzFd", "eyJhIjoxfQ", base64.b64encode(b"[" * 100_000).decode()])
def test_a_cursor_of_another_list_is_refused(cursor: str) -> None:
    with pytest.raises(BadCursor):
        decode_places(cursor)
