"""Who says which quotation, as a job keeps it: a line's id to a name of the cast. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_VERSION = 1


class LinesDamaged(Exception):
    """The stored lines cannot be read."""


def encode_lines(lines: Mapping[str, str]) -> bytes:
    """As a job keeps them: a line's id to its speaker."""
    return json.dumps({"version": _VERSION, "lines": dict(lines)}).encode()


def decode_lines(data: bytes) -> dict[str, str]:
    """None are kept as nothing. Raises `LinesDamaged` for what `encode_lines` of this version did not write."""
    if not data:
        return {}
    try:
        held: dict[str, Any] = json.loads(data)
        if held["version"] != _VERSION:
            raise LinesDamaged(f"the cast's lines are of version {held['version']!r}, made by another Rhapsode")
        return {str(id): str(name) for id, name in held["lines"].items()}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise LinesDamaged(f"the cast's lines in the store are damaged: {error}") from error
