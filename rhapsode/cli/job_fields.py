"""Options of a command as fields of a request, checked by the contract before a command starts a server."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast, get_args, get_type_hints

from rhapsode.cli.failures import Misuse
from rhapsode.cli.options import read_time

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel
    from pydantic_core import ErrorDetails

    from rhapsode.client.request_options import JobOptions

OUT_OF_RANGE = {"finite_number", "greater_than", "greater_than_equal", "less_than", "less_than_equal", "literal_error"}
"""Errors of pydantic that `JobField.wanted` describes better."""


@dataclass(frozen=True, slots=True)
class JobField:
    """The field of an option, in its annotation.

    path: for instance `sampling.top_k`. is_time: a time, by default in this machine's zone. is_by_hand: the command
    fills the field, and an error names the option. wanted: the valid values, "between 1 and 1000".
    """

    path: str
    is_time: bool = False
    is_by_hand: bool = False
    wanted: str = ""


def given_fields(group: object) -> JobOptions:
    """The request's fields that a group of options gives. Raises `Misuse` for an invalid time."""
    options: dict[str, Any] = {}
    for option, field, value in _given(group):
        if not field.is_by_hand:
            *inside, name = field.path.split(".")
            place = options
            for step in inside:
                place = place.setdefault(step, {})
            place[name] = read_time(option, value) if field.is_time else value
    return cast("JobOptions", options)


def check_job(options: JobOptions, groups: Iterable[object]) -> None:
    """Like `check`, for a job without its input."""
    from rhapsode.client.jobs.submission import submission_body
    from rhapsode.contract.jobs.request import JobRequest

    check(JobRequest, submission_body("Only the options are checked.", options), groups)


def check(body: type[BaseModel], content: Mapping[str, object], groups: Iterable[object]) -> None:
    """Raises `Misuse` for invalid content. It names the option."""
    from pydantic import ValidationError

    try:
        body.model_validate(content)
    except ValidationError as error:
        given = [each for group in groups for each in _given(group)]
        raise Misuse(_fault(error.errors(include_url=False)[0], given)) from error


_Given = tuple[str, JobField, Any]


def _given(group: object) -> Iterator[_Given]:
    """Each option of a job with its name and value."""
    hints = get_type_hints(type(group), include_extras=True)
    for each in dataclasses.fields(cast("Any", group)):
        value = getattr(group, each.name)
        fields = [extra for extra in get_args(hints[each.name]) if isinstance(extra, JobField)]
        if fields and value is not None:
            yield f"--{each.name.replace('_', '-')}", fields[0], value


def _fault(detail: ErrorDetails, given: Iterable[_Given]) -> str:
    place = ".".join(part for part in detail["loc"] if isinstance(part, str))
    for option, field, _ in given:
        if place == field.path or place.startswith(f"{field.path}."):
            if field.wanted and detail["type"] in OUT_OF_RANGE:
                return f"{option}: {_shown(detail['input'])} is not {field.wanted}"
            return f"{option}: {detail['msg'][:1].lower()}{detail['msg'][1:]}"
    return f"{place}: {detail['msg']}" if place else detail["msg"]


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
