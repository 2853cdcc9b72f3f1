"""`client.dictionaries`: how words are respelt before they are spoken."""

from __future__ import annotations

from collections.abc import AsyncIterator

from rhapsode.client.aio.sending import AsyncSend, each_of
from rhapsode.client.voices import dictionary_calls
from rhapsode.client.voices.dictionary_calls import Rules
from rhapsode.contract.pronunciations import Dictionary, Version


class AsyncDictionaries:
    """Versions never change; a job keeps what it took, whatever becomes of the dictionary."""

    def __init__(self, send: AsyncSend) -> None:
        self._send = send

    async def create(self, name: str, rules: Rules) -> Dictionary:
        """With its first version; from rules, or from the bytes of a PLS file."""
        return await self._send(dictionary_calls.create_dictionary(name, rules))

    async def add_version(self, dictionary: Dictionary | str, rules: Rules) -> Version:
        """Replace all rules: versions do not build upon each other."""
        return await self._send(dictionary_calls.add_version(_id(dictionary), rules))

    async def get(self, dictionary: str) -> Dictionary:
        return await self._send(dictionary_calls.get_dictionary(dictionary))

    def list(self) -> AsyncIterator[Dictionary]:
        """The oldest first."""
        return each_of(self._send, dictionary_calls.list_dictionaries)

    async def export(self, dictionary: Dictionary | str, version: int) -> bytes:
        """The rules of a version as a PLS file."""
        return await self._send(dictionary_calls.export_version(_id(dictionary), version))

    async def delete(self, dictionary: Dictionary | str) -> None:
        await self._send(dictionary_calls.delete_dictionary(_id(dictionary)))


def _id(dictionary: Dictionary | str) -> str:
    return dictionary if isinstance(dictionary, str) else dictionary.id
