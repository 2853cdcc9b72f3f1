"""What a caller says in Python, as the JSON that the API reads."""

from __future__ import annotations

import base64
from collections.abc import Collection, Mapping
from datetime import datetime

from pydantic import JsonValue


def json_object(options: Mapping[str, object]) -> dict[str, JsonValue]:
    """Without what is None. Raises as `plain_json`."""
    return {name: plain_json(value, name) for name, value in options.items() if value is not None}


def plain_json(value: object, name: str = "") -> JsonValue:
    """Mappings and collections of any kind as objects and arrays, times as text, bytes in base64.

    name: what the value is called. Raises `ValueError` for a time without a time zone, `TypeError` for what JSON lacks.
    """
    match value:
        case Mapping():
            return {str(key): plain_json(entry, str(key)) for key, entry in value.items()}
        case datetime() if value.tzinfo is None:
            raise ValueError(f"{name} needs a time zone")
        case datetime():
            return value.isoformat()
        case bytes():
            return base64.b64encode(value).decode()
        case str() | int() | float() | None:
            return value
        case Collection():
            return [plain_json(entry, name) for entry in value]
        case _:
            raise TypeError(f"{name}: {type(value).__name__} is nothing that JSON has")
