"""Pages of long lists, of which filters may leave little."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

CHUNK = 100
"""Entries that are read in one round trip."""

K = TypeVar("K", bound=str)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ListPage(Generic[K, T]):
    """next_after: what the next page starts after, which filters may move past the last entry; None for the last."""

    entries: tuple[T, ...]
    next_after: K | None = None


def scanned_page(chunks: Iterable[Sequence[tuple[K, T | None]]], limit: int) -> ListPage[K, T]:
    """The first `limit` wanted entries. chunks: of `CHUNK` entries, the list's last one shorter; an entry that is not
    wanted is None. Where they end before the list does, the next page goes on behind them.
    """
    found: list[T] = []
    seen: K | None = None
    for chunk in chunks:
        for name, entry in chunk:
            if entry is not None:
                if len(found) == limit:
                    return ListPage(tuple(found), seen)
                found.append(entry)
            seen = name
        if len(chunk) < CHUNK:
            return ListPage(tuple(found))
    return ListPage(tuple(found), seen)
