"""A submission's bytes to a `JobRequest`, or to one problem that names every field at fault."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from api.http.json_body import parse_json
from api.http.problems.problem import FieldViolation, HttpProblem, invalid

_TYPES = {
    "unknown_field": "extra_forbidden",
    "missing": "missing",
    "not_allowed": "literal_error enum",
    "out_of_range": "greater_than greater_than_equal less_than less_than_equal finite_number int_parsing_size",
    "too_short": "string_too_short too_short",
    "too_long": "string_too_long too_long",
    "invalid_unicode": "string_unicode",
    "not_a_date_time": "timezone_aware",
}
_CODES = {each: code for code, types in _TYPES.items() for each in types.split()}
"""pydantic's types of errors in our words; its many `*_type` and `*_parsing` are all `wrong_type`."""

_SENTENCES = {
    "extra_forbidden": "there is no such field",
    "missing": "this field is required",
    "model_type": "must be a JSON object",
    "dict_type": "must be a JSON object",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "string_unicode": "the text holds half of a surrogate pair, which is no character",
}
"""Where pydantic's own words would speak of Python."""

MAX_POINTER_PART = 200
"""A key may have as many characters as the body has bytes, and the refusal need not repeat them."""

B = TypeVar("B", bound=BaseModel)


def parse_body(form: type[B], body: bytes) -> B:
    """Raises a `HttpProblem`: 400 for what is not JSON, 422 for what is not a `form`."""
    return parse_fields(form, parse_json(body))


def parse_fields(form: type[B], fields: object) -> B:
    """Raises a `HttpProblem` for what is not a `form`."""
    try:
        return form.model_validate(fields)
    except ValidationError as error:
        raise invalid(body_violations(error)) from None


def body_violations(error: ValidationError) -> list[FieldViolation]:
    """One for every field at fault."""
    details = error.errors(include_url=False, include_input=False)
    around = {detail["loc"][:depth] for detail in details for depth in range(len(detail["loc"]))}
    # A list whose entries are at fault is left without them, and then said to be too short.
    return [_body_violation(each) for each in details if each["type"] != "too_short" or each["loc"] not in around]


def parameter_problem(error: RequestValidationError) -> HttpProblem:
    """What FastAPI refused: query parameters, for bodies are parsed here."""
    return invalid([_parameter_violation(detail) for detail in error.errors()])


def _body_violation(detail: ErrorDetails) -> FieldViolation:
    # A key of a map that is itself refused is reported as (map, key, "[key]"), one of several types under its check.
    place = [part for part in detail["loc"] if part != "[key]" and not str(part).startswith("function-after[")]
    return FieldViolation(_code(detail["type"]), _sentence(detail), pointer=_pointer(place))


def _parameter_violation(detail: ErrorDetails) -> FieldViolation:
    _, *place = detail["loc"]
    # A parameter that may be repeated is reported as (name, position), and the caller gave it a name only.
    return FieldViolation(_code(detail["type"]), _sentence(detail), parameter=str(place[0]) if place else None)


def _code(kind: str) -> str:
    if kind in _CODES:
        return _CODES[kind]
    return "wrong_type" if kind.endswith(("_type", "_parsing")) else kind


def _sentence(detail: ErrorDetails) -> str:
    match detail:
        case {"type": "too_short", "ctx": {"min_length": int(least)}}:
            return f"must have at least {least:,} {'entry' if least == 1 else 'entries'}"
        case {"type": "too_long", "ctx": {"max_length": int(most)}}:
            return f"must have at most {most:,} {'entry' if most == 1 else 'entries'}"
        case _:
            return _SENTENCES.get(detail["type"], detail["msg"])


def _pointer(place: Iterable[str | int]) -> str:
    """RFC 6901, but for a key that is cut off."""
    return "".join(f"/{_shortened(str(part)).replace('~', '~0').replace('/', '~1')}" for part in place)


def _shortened(part: str) -> str:
    return part if len(part) <= MAX_POINTER_PART else f"{part[:MAX_POINTER_PART]}…"
