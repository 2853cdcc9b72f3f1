"""Bytes to JSON values, as strictly as RFC 8259 and RFC 7493 have it: UTF-8, no NaN, no key twice."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from pydantic import JsonValue

from api.http.problems.problem import malformed

MAX_DIGITS = 1_000
"""Of an integer, which is more than any field takes. Python reads at most 4,300, and says so in words of its own."""


def parse_json(body: bytes) -> JsonValue:
    """Raises the `Problem` that says why the bytes are not JSON. Strings may still hold lone surrogates."""
    if not body:
        raise malformed("the request needs a JSON body")
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise malformed(f"the body is not UTF-8: byte {error.start} is 0x{body[error.start]:02x}") from error
    try:
        return json.loads(
            text, object_pairs_hook=_without_duplicates, parse_int=_integer, parse_constant=_refuse_constant
        )
    except json.JSONDecodeError as error:
        raise malformed(f"the body is not JSON: {error.msg} (line {error.lineno}, column {error.colno})") from error
    except RecursionError as error:
        raise malformed("the body is nested too deeply") from error
    except ValueError as error:
        # The hooks raise with a sentence for the caller.
        raise malformed(f"the body is not JSON: {error}") from error


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {json.dumps(twice[:64])} appears twice in one object")
    return fields


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"an integer has {len(digits):,} digits")
    return int(digits)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")
