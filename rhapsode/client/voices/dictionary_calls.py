"""Every request about pronunciation dictionaries as a value. No I/O: both clients send these.

Creating one is the call whose repeat makes a second one if the first arrived and its answer did not; nobody names it,
so nothing is harmed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import httpx

from rhapsode.client.calls import ApiCall, nothing, resource
from rhapsode.client.plain_json import plain_json
from rhapsode.client.request_options import RuleFields
from rhapsode.contract.base import Answer
from rhapsode.contract.pronunciations import Dictionary, DictionaryList, Version

ResourceT = TypeVar("ResourceT", bound=Answer)

PATH = "/v1/pronunciation-dictionaries"
PLS = "application/pls+xml"

Rules = Sequence[RuleFields] | bytes
"""A list of rules, or the bytes of a PLS file."""


def create_dictionary(name: str, rules: Rules) -> ApiCall[Dictionary]:
    if isinstance(rules, bytes):
        return _pls(PATH, resource(Dictionary), rules, (("name", name),))
    return ApiCall("POST", PATH, resource(Dictionary), body={"name": name, "rules": plain_json(rules)})


def add_version(dictionary: str, rules: Rules) -> ApiCall[Version]:
    path = f"{PATH}/{dictionary}/versions"
    if isinstance(rules, bytes):
        return _pls(path, resource(Version), rules, ())
    return ApiCall("POST", path, resource(Version), body={"rules": plain_json(rules)})


def list_dictionaries(cursor: str | None) -> ApiCall[DictionaryList]:
    params = (("limit", "100"), *((("cursor", cursor),) if cursor else ()))
    return ApiCall("GET", PATH, resource(DictionaryList), params=params)


def get_dictionary(dictionary: str) -> ApiCall[Dictionary]:
    return ApiCall("GET", f"{PATH}/{dictionary}", resource(Dictionary))


def export_version(dictionary: str, version: int) -> ApiCall[bytes]:
    """The rules as a PLS file."""
    return ApiCall("GET", f"{PATH}/{dictionary}/versions/{version}", _content, headers={"Accept": PLS})


def delete_dictionary(dictionary: str) -> ApiCall[None]:
    return ApiCall("DELETE", f"{PATH}/{dictionary}", nothing)


def _content(response: httpx.Response) -> bytes:
    return response.content


def _pls(
    path: str, parse: Callable[[httpx.Response], ResourceT], content: bytes, params: tuple[tuple[str, str], ...]
) -> ApiCall[ResourceT]:
    return ApiCall("POST", path, parse, params=params, headers={"Content-Type": PLS}, content=content)
