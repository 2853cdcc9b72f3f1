"""Texts in pieces of any shape, as a client that cuts strings of UTF-16 may send them."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import strategies as st

UNIT = 2


def cuts() -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, 120), max_size=12)


def cut(text: str, places: list[int]) -> list[str]:
    """At these UTF-16 code units, also between the halves of a character, and at one of them twice."""
    units = text.encode("utf-16-le")
    ends = [0, *sorted(min(place * UNIT, len(units)) for place in places), len(units)]
    return [units[a:b].decode("utf-16-le", "surrogatepass") for a, b in pairwise(ends)]
