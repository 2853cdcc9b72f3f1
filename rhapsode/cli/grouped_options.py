"""Options of a command in groups: a parameter whose type is a dataclass becomes one option for each field.

Options of the server (`AddressOptions`) come last. For commands with many options, `--help` shows a few, and
`--help-all` shows all. Each group has a heading: the first line of the dataclass.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, get_type_hints

import typer

from rhapsode.cli.clients import AddressOptions
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


def grouped(command: Callable[..., None], *, has_help_all: bool = False) -> Callable[..., None]:
    """The command with one parameter for each option, which typer reads."""
    groups = _groups(command)
    if not groups:
        return command
    hints = get_type_hints(command, include_extras=True)
    parameters = sorted(inspect.signature(command).parameters.values(), key=lambda each: _is_last(hints[each.name]))

    @functools.wraps(command)
    def called(*, help_all: bool = False, **given: Any) -> None:  # noqa: ANN401 - values that typer has parsed
        made = {
            name: group(**{field.name: given.pop(field.name) for field in dataclasses.fields(group)})
            for name, group in groups.items()
        }
        command(**given, **made)

    flat = [each for parameter in parameters for each in _flattened(parameter, hints[parameter.name])]
    if has_help_all:
        keyword = inspect.Parameter.KEYWORD_ONLY
        flat.append(inspect.Parameter("help_all", keyword, default=False, annotation=HelpAllOption))
    # Typer reads names and defaults from the signature, types and help from the annotations.
    called.__signature__ = inspect.Signature(flat)  # pyright: ignore[reportAttributeAccessIssue]
    called.__annotations__ = {each.name: each.annotation for each in flat}
    return called


def with_headings(command: Callable[..., None], common: Sequence[str]) -> type[PlainCommand]:
    """The class of a command with groups. common: the parameters that `--help` shows, in this order."""
    headings = {
        field.name: _heading(group) for group in _groups(command).values() for field in dataclasses.fields(group)
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
    """The parameters that are groups."""
    hints = get_type_hints(command, include_extras=True)
    return {
        name: hints[name] for name in inspect.signature(command).parameters if dataclasses.is_dataclass(hints[name])
    }


def _is_last(hint: Any) -> bool:  # noqa: ANN401
    return isinstance(hint, type) and issubclass(hint, AddressOptions)


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
