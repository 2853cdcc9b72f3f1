"""`client.dictionaries`: how words are respelt before they are spoken."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import TypeVar

import httpx

from rhapsode.client.aio.sending import AsyncSend, each_of
from rhapsode.client.calls import ApiCall, content, given, nothing, path_of, resource
from rhapsode.client.plain_json import plain_json
from rhapsode.client.request_options import RuleFields
from rhapsode.contract.pronunciations import Dictionary, DictionaryList, Version

T = TypeVar("T")

DICTIONARIES = "/v1/pronunciation-dictionaries"
PLS = "application/pls+xml"

Rules = Sequence[RuleFields] | bytes
"""A list of rules, or the bytes of a PLS file."""


class AsyncDictionaries:
    """Versions never change; a job keeps what it took, whatever becomes of the dictionary."""

    def __init__(self, send: AsyncSend) -> None:
        self._send = send

    async def create(self, name: str, rules: Rules) -> Dictionary:
        """With its first version; from rules, or from the bytes of a PLS file."""
        if isinstance(rules, bytes):
            return await self._send(_pls(DICTIONARIES, resource(Dictionary), rules, name))
        body = {"name": name, "rules": plain_json(rules)}
        return await self._send(ApiCall("POST", DICTIONARIES, resource(Dictionary), body=body))

    async def add_version(self, dictionary: Dictionary | str, rules: Rules) -> Version:
        """Replace all rules: versions do not build upon each other."""
        path = f"{path_of(DICTIONARIES, dictionary)}/versions"
        if isinstance(rules, bytes):
            return await self._send(_pls(path, resource(Version), rules))
        return await self._send(ApiCall("POST", path, resource(Version), body={"rules": plain_json(rules)}))

    async def get(self, dictionary: str) -> Dictionary:
        return await self._send(ApiCall("GET", path_of(DICTIONARIES, dictionary), resource(Dictionary)))

    def list(self) -> AsyncIterator[Dictionary]:
        """The oldest first."""
        return each_of(self._send, ApiCall("GET", DICTIONARIES, resource(DictionaryList), params=given(limit=100)))

    async def export(self, dictionary: Dictionary | str, version: int) -> bytes:
        """The rules of a version as a PLS file."""
        path = f"{path_of(DICTIONARIES, dictionary)}/versions/{version}"
        return await self._send(ApiCall("GET", path, content, headers={"Accept": PLS}))

    async def delete(self, dictionary: Dictionary | str) -> None:
        await self._send(ApiCall("DELETE", path_of(DICTIONARIES, dictionary), nothing))


def _pls(path: str, parse: Callable[[httpx.Response], T], rules: bytes, name: str | None = None) -> ApiCall[T]:
    return ApiCall("POST", path, parse, params=given(name=name), headers={"Content-Type": PLS}, content=rules)
