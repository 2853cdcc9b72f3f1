"""From options of a command to fields of a request: which each is, and what the contract says of all of them.

The contract itself is asked, so that what the API would refuse is refused before a command starts a whole system.
"""

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
"""pydantic's types of errors that `JobField.wanted` says better."""


@dataclass(frozen=True, slots=True)
class JobField:
    """What an option is in a job, beside typer's own words in its annotation.

    path: its names, `sampling.top_k`. is_time: a time in this machine's zone, unless it has one. is_by_hand: the
    command says it itself, and an error names the option. wanted: what a value has to
    be, "between 1 and 1000".
    """

    path: str
    is_time: bool = False
    is_by_hand: bool = False
    wanted: str = ""


def told(group: object) -> JobOptions:
    """Of a group of options of a job, a dataclass, those that were given. Raises `Misuse` for what is no time."""
    return cast("JobOptions", said(group))


def said(group: object) -> dict[str, Any]:
    """As `told`, of any request."""
    options: dict[str, Any] = {}
    for option, field, value in _given(group):
        if not field.is_by_hand:
            *inside, name = field.path.split(".")
            place = options
            for step in inside:
                place = place.setdefault(step, {})
            place[name] = read_time(option, value) if field.is_time else value
    return options


def check_job(options: JobOptions, groups: Iterable[object]) -> None:
    """As `check`, of a job. Its input is looked at elsewhere."""
    from rhapsode.client.jobs.submission import submission_body
    from rhapsode.contract.jobs.request import JobRequest

    check(JobRequest, submission_body("The options alone are looked at.", options), groups)


def check(body: type[BaseModel], content: Mapping[str, object], groups: Iterable[object]) -> None:
    """Raises `Misuse` for what no server would take, under the name of the option that said it."""
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
