"""How the groups of a client's calls reach its server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
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


async def each_of(send: AsyncSend, first: ApiCall[Page[T]]) -> AsyncIterator[T]:
    """The entries of all pages, each fetched when it is needed."""
    call = first
    while True:
        page = await send(call)
        for entry in page.data:
            yield entry
        if page.next_cursor is None or not page.has_more:
            return
        call = replace(first, params=(*first.params, ("cursor", page.next_cursor)))
