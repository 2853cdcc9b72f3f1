"""How the groups of a client's calls reach its server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Protocol, TypeVar

from rhapsode.client.calls import ApiCall

T = TypeVar("T")
EntryT_co = TypeVar("EntryT_co", covariant=True)


class AsyncSend(Protocol):
    """A client's way to make a call, with its repeats."""

    async def __call__(self, call: ApiCall[T]) -> T: ...


class Page(Protocol[EntryT_co]):
    """What every list of the API answers with."""

    @property
    def data(self) -> Sequence[EntryT_co]: ...
    @property
    def next_cursor(self) -> str | None: ...
    @property
    def has_more(self) -> bool: ...


async def each_of(send: AsyncSend, page_at: Callable[[str | None], ApiCall[Page[T]]]) -> AsyncIterator[T]:
    """The entries of all pages, each fetched when it is needed. page_at: the call for the page behind a cursor."""
    cursor: str | None = None
    while True:
        page = await send(page_at(cursor))
        for entry in page.data:
            yield entry
        cursor = page.next_cursor
        if cursor is None or not page.has_more:
            return
