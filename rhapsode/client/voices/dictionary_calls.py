"""Every request about pronunciation dictionaries as a value. No I/O: both clients send these.

Creating one is the call whose repeat makes a second one if the first arrived and its answer did not; nobody names it,
so nothing is harmed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NotRequired, Required, TypedDict, TypeVar

import httpx

from rhapsode.client.calls import Call, nothing, resource
from rhapsode.client.jobs.output_options import plain_json
from rhapsode.client.resources import Resource

ResourceT = TypeVar("ResourceT", bound=Resource)

PATH = "/v1/pronunciation-dictionaries"
PLS = "application/pls+xml"


class Rule(TypedDict):
    """`grapheme` is spoken as `alias` wherever it stands as a whole word."""

    grapheme: Required[str]
    alias: Required[str]
    case_sensitive: NotRequired[bool]


class DictionaryVersion(Resource):
    """`reference` is what a job's `pronunciation_dictionaries` name."""

    version: int
    reference: str
    num_rules: int
    bytes: int
    sha256: str
    language: str
    created_at: datetime


class Dictionary(Resource):
    """versions: the oldest first."""

    id: str
    name: str
    created_at: datetime
    versions: tuple[DictionaryVersion, ...]


class DictionaryPage(Resource):
    data: tuple[Dictionary, ...]
    next_cursor: str | None
    has_more: bool


Rules = Sequence[Rule] | bytes
"""A list of rules, or the bytes of a PLS file."""


def create_dictionary(name: str, rules: Rules) -> Call[Dictionary]:
    if isinstance(rules, bytes):
        return _pls(PATH, resource(Dictionary), rules, (("name", name),))
    return Call("POST", PATH, resource(Dictionary), body={"name": name, "rules": plain_json(rules)})


def add_version(dictionary: str, rules: Rules) -> Call[DictionaryVersion]:
    path = f"{PATH}/{dictionary}/versions"
    if isinstance(rules, bytes):
        return _pls(path, resource(DictionaryVersion), rules, ())
    return Call("POST", path, resource(DictionaryVersion), body={"rules": plain_json(rules)})


def list_dictionaries(cursor: str | None) -> Call[DictionaryPage]:
    params = (("limit", "100"), *((("cursor", cursor),) if cursor else ()))
    return Call("GET", PATH, resource(DictionaryPage), params=params)


def get_dictionary(dictionary: str) -> Call[Dictionary]:
    return Call("GET", f"{PATH}/{dictionary}", resource(Dictionary))


def export_version(dictionary: str, version: int) -> Call[bytes]:
    """The rules as a PLS file."""
    return Call("GET", f"{PATH}/{dictionary}/versions/{version}", _content, headers={"Accept": PLS})


def delete_dictionary(dictionary: str) -> Call[None]:
    return Call("DELETE", f"{PATH}/{dictionary}", nothing)


def _content(response: httpx.Response) -> bytes:
    return response.content


def _pls(
    path: str, parse: Callable[[httpx.Response], ResourceT], content: bytes, params: tuple[tuple[str, str], ...]
) -> Call[ResourceT]:
    return Call("POST", path, parse, params=params, headers={"Content-Type": PLS}, content=content)
