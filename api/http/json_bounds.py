"""How much structure a JSON text may have, whatever it says: looked at before it is built, in one pass.

A byte of `[` or `,` becomes fifty bytes of Python, and an unknown key a line of a refusal; the limit of a
body's bytes alone does not bound either.
"""

from __future__ import annotations

import json
import re
from typing import cast

MAX_DEPTH = 32
MAX_KEYS = 1_000
"""Of one object; the largest that anything here takes has a hundred."""

MAX_VALUES = 1_000_000
"""Of all lists and objects together: 50,000 segments with every field that one can have take half of it."""

_MARKS = re.compile(r'[\[\]{}:,]|(?:"(?:[^"\\]++|\\.)*+"?[^"\[\]{}:,]*+)++', re.DOTALL)
"""What makes structure, and strings with what follows them as one, so that it is not looked for in them. Possessive:
nothing is read twice. A string that does not end is read to the end of the text."""

_TOKENS = re.compile(r'[{}\[\]:]|"(?:[^"\\]++|\\.)*+"?', re.DOTALL)


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
