"""Bytes to JSON values, as strictly as RFC 8259 and RFC 7493 have it: UTF-8, no NaN, no key twice."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn, cast

from pydantic import JsonValue

from api.http.problems.problem import malformed

MAX_DEPTH = 32
MAX_KEYS = 1_000
"""Of one object; the largest that anything here takes has a hundred."""

MAX_VALUES = 1_000_000
"""Of all lists and objects together: 50,000 segments with every field that one can have take half of it."""

_MARKS = re.compile(r'[\[\]{}:,]|(?:"(?:[^"\\]++|\\.)*+"?[^"\[\]{}:,]*+)++', re.DOTALL)
"""What makes structure, and strings with what follows them as one, so that it is not looked for in them. Possessive:
nothing is read twice. A string that does not end is read to the end of the text."""

_TOKENS = re.compile(r'[{}\[\]:]|"(?:[^"\\]++|\\.)*+"?', re.DOTALL)

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
            parse_int=lambda digits: int(_short(digits)),
            parse_float=lambda digits: float(_short(digits)),
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


def _short(digits: str) -> str:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a number has {len(digits):,} digits")
    return digits


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")


# How much structure a JSON text may have, counted in one pass before it is built. A byte of `[` or `,` becomes fifty
# bytes of Python, and an unknown key a line of an error. The limit of a body's bytes bounds neither.
class OutOfBounds(ValueError):
    """`str` names the bound and the place."""


def check_bounds(text: str) -> None:
    """Raises `OutOfBounds`. What is no JSON may pass."""
    keys = [0]
    num_values = 0
    for mark in _MARKS.finditer(text):
        match mark[0]:
            case "[" | "{":
                keys.append(0)
                num_values += 1
                if len(keys) > MAX_DEPTH + 1:
                    raise OutOfBounds(f"it is nested more than {MAX_DEPTH} deep{place_of(text, mark.start())}")
            case "]" | "}" if len(keys) > 1:
                keys.pop()
            case "]" | "}":
                # An end without a beginning: the parser says so better, and reads no further either.
                return
            case ":":
                keys[-1] += 1
                if keys[-1] > MAX_KEYS:
                    raise OutOfBounds(f"an object has more than {MAX_KEYS:,} keys{place_of(text, mark.start())}")
            case ",":
                num_values += 1
            case _:
                continue
        if num_values > MAX_VALUES:
            raise OutOfBounds(f"it has more than {MAX_VALUES:,} values{place_of(text, mark.start())}")


def repeated_key(text: str) -> str:
    """A sentence about the first key that an object of this JSON text has twice, which there has to be."""
    seen: list[set[str]] = [set()]
    last = None
    for token in _TOKENS.finditer(text):
        match token[0]:
            case "{" | "[":
                seen.append(set())
            case "}" | "]":
                seen.pop()
            case ":" if last is not None:
                # As it is read, not as it is written: "a" and "\\u0061" are one key.
                key = cast("str", json.loads(last[0]))
                if key in seen[-1]:
                    return f"the key {json.dumps(key[:64])} appears twice in one object{place_of(text, last.start())}"
                seen[-1].add(key)
            case _:
                last = token
    raise ValueError("no key appears twice")


def place_of(text: str, position: int) -> str:
    line = text.count("\n", 0, position) + 1
    return f" (line {line}, column {position - text.rfind(chr(10), 0, position)})"
