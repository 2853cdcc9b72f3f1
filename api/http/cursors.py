"""Where a list goes on: the last entry of a page, wrapped so that no client builds on what it says."""

from __future__ import annotations

import base64
import binascii
import re

from api.http.problems.problem import FieldViolation, invalid


def encode_cursor(last: str) -> str:
    return base64.urlsafe_b64encode(last.encode()).decode().rstrip("=")


def decode_cursor(cursor: str | None, form: re.Pattern[str]) -> str | None:
    """Raises a `Problem` for a cursor that this list did not give out; `form` is what its entries look like."""
    if cursor is None:
        return None
    try:
        entry = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        entry = ""
    if not form.fullmatch(entry):
        raise invalid([FieldViolation("invalid_cursor", "is not a cursor of this list", parameter="cursor")])
    return entry
