"""The command line. It loads only the command that it runs, and a command imports its parts when it runs.

So `rhapsode --help` and `rhapsode say` start fast. Every error is one line.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Collection
from typing import Annotated, Any, NoReturn, cast

import typer

from rhapsode.cli.failures import MISUSED, Misuse, failures_in_one_line
from rhapsode.cli.grouped_options import grouped, with_headings
from rhapsode.cli.help_texts import PlainCommand, PlainGroup
from rhapsode.cli.visible import echo

# Typer does not export it, and its module depends on Typer's version.
UsageError = cast("type[typer.BadParameter]", typer.BadParameter.__mro__[1])

MOST_COLUMNS = 120
"""Help is as wide as the terminal, up to this."""


class OneLineGroup(PlainGroup):
    """Raises `Misuse` where Typer would print the usage of the command, which `--help` shows."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 - of a module private to typer
        return [name for name in COMMANDS if name in self.commands]

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:  # noqa: ANN401 - as Typer has it
        if not standalone_mode:
            return super().main(*args, standalone_mode=False, **extra)
        try:
            status = super().main(*args, standalone_mode=False, **extra)
        except UsageError as error:
            _refuse(error)
        sys.exit(status)


def _refuse(error: typer.BadParameter) -> NoReturn:
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        sys.exit(MISUSED)
    command = error.ctx.command_path if error.ctx is not None else "rhapsode"
    raise Misuse(f"{error.format_message().rstrip('.')} (`{command} --help` says more)") from error


def _show_version(value: bool) -> None:
    if value:
        from importlib.metadata import version

        echo(f"rhapsode {version('rhapsode')}")
        raise typer.Exit


def rhapsode(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Turn texts into speech through a job queue."""


GROUPS = {
    "Make speech": {
        "narrate": "narrate.narrate:narrate",
        "say": "live.say:say",
        "plan": "narrate.plan:plan",
        "cast": "narrate.cast:cast",
        "voices": "voices.voices:app",
        "dictionaries": "voices.dictionaries:app",
        "check": "local.check:check",
    },
    "Look and change": {
        "jobs": "jobs.jobs:app",
        "batches": "jobs.batches:app",
        "usage": "operators.usage:usage",
        "webhooks": "webhooks.webhooks:app",
        "config": "config.show:app",
    },
    "Operate": {
        "up": "local.up:up",
        "run": "local.run:run",
        "backup": "local.backup:backup",
        "restore": "local.backup:restore",
        "doctor": "local.doctor:doctor",
        "models": "local.models:app",
        "workers": "operators.operations:workers",
        "queues": "operators.operations:queues",
        "drain": "operators.operations:drain",
        "dlq": "operators.operations:dlq",
        "audit": "operators.operations:audit",
        "reconcile": "operators.operations:reconcile",
        "keys": "operators.keys:app",
        "quotas": "operators.quotas:app",
        "bench": "bench.bench:bench",
        "calibrate": "local.calibrate:calibrate",
    },
}
"""The groups of `rhapsode --help`: each command with its place below `rhapsode.cli`."""

COMMANDS = {name: (group, place) for group, places in GROUPS.items() for name, place in places.items()}

COMMON = {
    "narrate": (
        *("file", "output", "voice", "speaker", "cast", "language", "preset", "speed", "seed", "chapter_files"),
        *("subtitles", "include", "title", "force", "detach", "server", "as_json", "help_all"),
    ),
    "bench": (
        *("streams", "minutes", "price", "json", "checkpoint", "device", "url", "target", "model", "voice", "rates"),
        *("seconds", "quality", "quick", "compare", "help_all"),
    ),
}
"""The options that `--help` shows. `--help-all` shows the rest."""


def command_line(names: Collection[str] = COMMANDS) -> typer.Typer:
    """With these commands."""
    app = typer.Typer(
        name="rhapsode",
        cls=OneLineGroup,
        help="Turn texts into speech through a job queue.",
        epilog="Start with: rhapsode narrate FILE. If that fails: rhapsode doctor.",
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": MOST_COLUMNS},
    )
    app.callback()(rhapsode)
    for name in names:
        _add(app, name)
    return app


def _add(app: typer.Typer, name: str) -> None:
    group, place = COMMANDS[name]
    module, _, attribute = place.partition(":")
    command = getattr(importlib.import_module(f"rhapsode.cli.{module}"), attribute)
    if isinstance(command, typer.Typer):
        for each in command.registered_commands:
            each.cls = PlainCommand
            each.callback = each.callback and grouped(each.callback)
        app.add_typer(command, name=name, cls=PlainGroup, rich_help_panel=group)
        return
    has_more = name in COMMON
    cls = with_headings(command, COMMON[name]) if has_more else PlainCommand
    app.command(name=name, cls=cls, rich_help_panel=group)(grouped(command, has_help_all=has_more))


def main() -> None:
    asked = sys.argv[1:2]
    with failures_in_one_line():
        command_line(asked if asked and asked[0] in COMMANDS else COMMANDS)()
