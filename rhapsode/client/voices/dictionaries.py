"""`client.dictionaries`: how words are respelt before they are spoken."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from rhapsode.client.voices import dictionary_calls
from rhapsode.client.voices.async_voices import AsyncSend
from rhapsode.client.voices.dictionary_calls import Rules
from rhapsode.client.voices.voices import Send
from rhapsode.contract.pronunciations import Dictionary, Version


class Dictionaries:
    """Versions never change; a job keeps what it took, whatever becomes of the dictionary."""

    def __init__(self, send: Send) -> None:
        self._send = send

    def create(self, name: str, rules: Rules) -> Dictionary:
        """With its first version; from rules, or from the bytes of a PLS file."""
        return self._send(dictionary_calls.create_dictionary(name, rules))

    def add_version(self, dictionary: Dictionary | str, rules: Rules) -> Version:
        """All rules anew: versions do not build upon each other."""
        return self._send(dictionary_calls.add_version(_id(dictionary), rules))

    def get(self, dictionary: str) -> Dictionary:
        return self._send(dictionary_calls.get_dictionary(dictionary))

    def list(self) -> Iterator[Dictionary]:
        """The oldest first."""
        cursor: str | None = None
        while True:
            page = self._send(dictionary_calls.list_dictionaries(cursor))
            yield from page.data
            cursor = page.next_cursor
            if cursor is None:
                return

    def export(self, dictionary: Dictionary | str, version: int) -> bytes:
        """The rules of a version as a PLS file."""
        return self._send(dictionary_calls.export_version(_id(dictionary), version))

    def delete(self, dictionary: Dictionary | str) -> None:
        self._send(dictionary_calls.delete_dictionary(_id(dictionary)))


class AsyncDictionaries:
    """As `Dictionaries`, awaited."""

    def __init__(self, send: AsyncSend) -> None:
        self._send = send

    async def create(self, name: str, rules: Rules) -> Dictionary:
        return await self._send(dictionary_calls.create_dictionary(name, rules))

    async def add_version(self, dictionary: Dictionary | str, rules: Rules) -> Version:
        return await self._send(dictionary_calls.add_version(_id(dictionary), rules))

    async def get(self, dictionary: str) -> Dictionary:
        return await self._send(dictionary_calls.get_dictionary(dictionary))

    async def list(self) -> AsyncIterator[Dictionary]:
        cursor: str | None = None
        while True:
            page = await self._send(dictionary_calls.list_dictionaries(cursor))
            for each in page.data:
                yield each
            cursor = page.next_cursor
            if cursor is None:
                return

    async def export(self, dictionary: Dictionary | str, version: int) -> bytes:
        return await self._send(dictionary_calls.export_version(_id(dictionary), version))

    async def delete(self, dictionary: Dictionary | str) -> None:
        await self._send(dictionary_calls.delete_dictionary(_id(dictionary)))


def _id(dictionary: Dictionary | str) -> str:
    return dictionary if isinstance(dictionary, str) else dictionary.id
