"""Options of a command in groups: a parameter whose type is a dataclass stands for one option for each of its fields.

The command line looks as if the fields were parameters of the command, in their order; the command gets the groups.
`--help` shows a few options; `--help-all` shows all, with a heading for each group: the first line of the dataclass.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, get_type_hints

import typer

from rhapsode.cli.help_texts import PlainCommand
from rhapsode.cli.visible import echo

UNGROUPED = "Options"
SHOWS_ALL = "rhapsode.help_all"


def _show_all(ctx: typer.Context, value: bool) -> None:
    if value:
        ctx.meta[SHOWS_ALL] = True
        echo(ctx.get_help())
        raise typer.Exit


HelpAllOption = Annotated[
    bool, typer.Option("--help-all", is_eager=True, callback=_show_all, help="Show all options, in groups, and exit.")
]


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer is to see it."""
    hints = get_type_hints(command, include_extras=True)
    parameters = inspect.signature(command).parameters.values()
    groups = _groups(command)

    @functools.wraps(command)
    def called(*, help_all: bool, **given: Any) -> None:  # noqa: ANN401 - what typer has parsed, as the types say
        made = {
            name: group(**{field.name: given.pop(field.name) for field in dataclasses.fields(group)})
            for name, group in groups.items()
        }
        command(**given, **made)

    flat = [each for parameter in parameters for each in _flattened(parameter, hints[parameter.name])]
    flat.append(inspect.Parameter("help_all", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=HelpAllOption))
    # What typer reads: the signature for names and defaults, the annotations for types and help.
    called.__signature__ = inspect.Signature(flat)  # pyright: ignore[reportAttributeAccessIssue]
    called.__annotations__ = {each.name: each.annotation for each in flat}
    return called


def with_headings(called: Callable[..., None], common: Sequence[str]) -> type[PlainCommand]:
    """The class of a `grouped` command. common: the parameters that `--help` shows, in this order."""
    headings = {
        field.name: _heading(group)
        for group in _groups(inspect.unwrap(called)).values()
        for field in dataclasses.fields(group)
    }

    class Command(PlainCommand):
        def shown(self, ctx: Any) -> list[Any]:  # noqa: ANN401 - of a module private to typer
            parameters = {each.name: each for each in super().shown(ctx)}
            return [*parameters.values()] if SHOWS_ALL in ctx.meta else [parameters[each] for each in (*common, "help")]

        def heading_of(self, ctx: Any, parameter: Any) -> str:  # noqa: ANN401
            ungrouped = super().heading_of(ctx, parameter)
            if SHOWS_ALL not in ctx.meta:
                return ungrouped
            return headings.get(parameter.name or "", ungrouped) if ungrouped == UNGROUPED else ungrouped

    return Command


def _groups(command: Callable[..., None]) -> dict[str, type]:
    """The parameters that stand for several options."""
    hints = get_type_hints(command, include_extras=True)
    return {
        name: hints[name] for name in inspect.signature(command).parameters if dataclasses.is_dataclass(hints[name])
    }


def _heading(group: type) -> str:
    return (inspect.getdoc(group) or UNGROUPED).splitlines()[0].rstrip(".")


def _flattened(parameter: inspect.Parameter, hint: Any) -> Iterator[inspect.Parameter]:  # noqa: ANN401
    if not dataclasses.is_dataclass(hint):
        yield inspect.Parameter(parameter.name, parameter.KEYWORD_ONLY, default=parameter.default, annotation=hint)
        return
    field_hints = get_type_hints(hint, include_extras=True)
    for field in dataclasses.fields(hint):
        default = parameter.empty if field.default is dataclasses.MISSING else field.default
        yield inspect.Parameter(field.name, parameter.KEYWORD_ONLY, default=default, annotation=field_hints[field.name])
