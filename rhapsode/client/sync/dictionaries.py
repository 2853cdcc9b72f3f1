# Made from rhapsode/client/aio/dictionaries.py by `make generated`; change that file, not this one.
"""`client.dictionaries`: how words are respelt before they are spoken."""

from __future__ import annotations

from collections.abc import Iterator

from rhapsode.client.sync.sending import Send, each_of
from rhapsode.client.voices import dictionary_calls
from rhapsode.client.voices.dictionary_calls import Rules
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
        return each_of(self._send, dictionary_calls.list_dictionaries)

    def export(self, dictionary: Dictionary | str, version: int) -> bytes:
        """The rules of a version as a PLS file."""
        return self._send(dictionary_calls.export_version(_id(dictionary), version))

    def delete(self, dictionary: Dictionary | str) -> None:
        self._send(dictionary_calls.delete_dictionary(_id(dictionary)))


def _id(dictionary: Dictionary | str) -> str:
    return dictionary if isinstance(dictionary, str) else dictionary.id
