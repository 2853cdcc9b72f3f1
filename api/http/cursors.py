"""Pages of a list. A cursor is the encoded last entry of a page, so that no client depends on its content."""

from __future__ import annotations

import base64
import binascii
import re

from pydantic import BaseModel, ConfigDict, Field

from api.http.problems.problem import FieldViolation, invalid

_PLACES = {kind: re.compile(kind + " [0-9]{1,7}") for kind in ("segment", "peaks", "file")}


class StrictQuery(BaseModel):
    """A query whose parameters are all known."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class PageQuery(StrictQuery):
    limit: int = Field(default=20, ge=1, le=100)
    cursor: str | None = Field(default=None, max_length=200)


def encode_cursor(last: str) -> str:
    return base64.urlsafe_b64encode(last.encode()).decode().rstrip("=")


def next_place(cursor: str | None, kind: str) -> int | None:
    """The number after that of the cursor, which holds `kind` and a number. Raises as `decode_cursor`."""
    entry = decode_cursor(cursor, _PLACES[kind])
    return None if entry is None else int(entry.removeprefix(kind)) + 1


def decode_cursor(cursor: str | None, form: re.Pattern[str]) -> str | None:
    """form: of the list's entries. Raises an `HttpProblem` for a cursor of another list."""
    if cursor is None:
        return None
    try:
        entry = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        entry = ""
    if not form.fullmatch(entry):
        raise invalid([FieldViolation("invalid_cursor", "is not a cursor of this list", parameter="cursor")])
    return entry
