"""Bytes to JSON values, as strictly as RFC 8259 and RFC 7493 have it: UTF-8, no NaN, no key twice."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from pydantic import JsonValue

from api.http.json_bounds import OutOfBounds, check_bounds, repeated_key
from api.http.problems.problem import malformed

MAX_DIGITS = 1_000
"""Of a number, which is more than any field takes. Python reads at most 4,300 of an integer, and says so in its own
words."""


class _RepeatedKey(Exception):
    """An object has a key twice."""


def parse_json(body: bytes) -> JsonValue:
    """Raises the `Problem` that says why the bytes are not JSON, or more of it than is taken, and where.

    Strings may still hold lone surrogates, and numbers be infinite (`1e999`).
    """
    if not body:
        raise malformed("the request needs a JSON body")
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise malformed(f"the body is not UTF-8: byte {error.start} is 0x{body[error.start]:02x}") from error
    try:
        check_bounds(text)
    except OutOfBounds as error:
        raise malformed(f"the body is more JSON than is taken: {error}") from error
    return _parsed(text)


def _parsed(text: str) -> JsonValue:
    try:
        return json.loads(
            text,
            object_pairs_hook=_without_duplicates,
            parse_int=_integer,
            parse_float=_decimal,
            parse_constant=_refuse_constant,
        )
    except json.JSONDecodeError as error:
        raise malformed(f"the body is not JSON: {error.msg} (line {error.lineno}, column {error.colno})") from error
    except _RepeatedKey as error:
        raise malformed(f"the body is not JSON: {repeated_key(text)}") from error
    except ValueError as error:
        # The hooks raise with a sentence for the caller.
        raise malformed(f"the body is not JSON: {error}") from error


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise _RepeatedKey
    return fields


def _integer(digits: str) -> int:
    return int(_short(digits))


def _decimal(digits: str) -> float:
    return float(_short(digits))


def _short(digits: str) -> str:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a number has {len(digits):,} digits")
    return digits


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")
