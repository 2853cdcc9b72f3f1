"""What every body of a request and every answer is built on, and the fields that many of them have."""

from __future__ import annotations

import re
from datetime import date, datetime
from enum import Enum
from typing import Annotated, Self, TypeVar, cast

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, Strict
from pydantic.config import JsonDict
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from rhapsode.contract.speakable_text import check_label, check_prose

MAX_REF_TEXT_CHARS = 4_000


E = TypeVar("E", bound=Enum)
T = TypeVar("T")

Choice = Annotated[E, Strict(strict=False)]
"""One of a few words; strict validation would ask for the member itself."""

Listed = Annotated[tuple[T, ...], Strict(strict=False)]
"""A JSON array; strict validation would ask for a tuple."""


class RequestBody(BaseModel):
    """Strict: no unknown field, no number as text, no boolean as number, no infinity. An answer says each field."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        json_schema_serialization_defaults_required=True,
    )

    def __deepcopy__(self, memo: dict[int, object] | None = None) -> Self:
        """Itself, as it never changes: validation copies the default of every field that was left out."""
        return self


FIRST_FAULT_ALONE = True
"""`fail_fast` of a list of thousands of objects: the faults of the first invalid one are reported; no other is looked
at. With the faults of all, a refusal of 6 MB took a gigabyte and a quarter of a minute."""


def exactly_one(**types: str) -> JsonDict:
    """For a model's JSON schema: that just one of these fields is given, which are null otherwise.

    types: the JSON type that each has when it is given.
    """
    given = [{"required": [name], "properties": {name: {"type": kind}}} for name, kind in types.items()]
    return cast("JsonDict", {"oneOf": given})


def formed(form: re.Pattern[str], wanted: str, *, max_length: int | None = None) -> tuple[FieldInfo, AfterValidator]:
    """For `Annotated[str, *formed(...)]`: the whole text is of this form, which a refusal says in words.

    wanted: what it has to be, behind "must be".
    """

    def check(text: str) -> str:
        if form.fullmatch(text) is None:
            raise PydanticCustomError("string_pattern_mismatch", "must be {wanted}", {"wanted": wanted})
        return text

    return Field(max_length=max_length, json_schema_extra={"pattern": f"^{form.pattern}$"}), AfterValidator(check)


class Answer(BaseModel):
    """Made by the server, which names every field, and read by the client, which overlooks what a newer server adds."""

    model_config = ConfigDict(frozen=True, extra="ignore", validate_by_name=True, validate_by_alias=True)


def _date_time(value: object) -> object:
    if isinstance(value, datetime):
        return value
    if not isinstance(value, str):
        raise PydanticCustomError("wrong_type", "must be a date and time as text (RFC 3339)")
    try:
        return datetime.fromisoformat(value)
    except ValueError as error:
        raise PydanticCustomError("not_a_date_time", "must be a date and time with time zone (RFC 3339)") from error


def _day(value: object) -> object:
    if not isinstance(value, str):
        raise PydanticCustomError("wrong_type", "must be a day as text (RFC 3339)")
    try:
        return date.fromisoformat(value)
    except ValueError as error:
        raise PydanticCustomError("not_a_date", "must be a day: YYYY-MM-DD") from error


Id = Annotated[str, Field(pattern="^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
"""An id that a server gives. Programs build names of files from it, so it has no separator and no leading dot."""

FileName = Annotated[str, Field(pattern=r"^[^./\\\x00-\x1f\x7f][^/\\\x00-\x1f\x7f]*$")]
"""A name of a file that a server gives: it stays in the folder that it is put in."""

Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(check_label)]
Day = Annotated[date, BeforeValidator(_day)]
DateTime = Annotated[AwareDatetime, BeforeValidator(_date_time)]
MetadataKey = Annotated[str, Field(min_length=1, max_length=64), AfterValidator(check_label)]
RefText = Annotated[str, Field(max_length=MAX_REF_TEXT_CHARS), AfterValidator(check_prose)]
MetadataValue = Annotated[str, Field(max_length=512), AfterValidator(check_label)]
Metadata = Annotated[dict[MetadataKey, MetadataValue], Field(max_length=16)]
