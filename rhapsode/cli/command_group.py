"""The command line as a whole: what was typed wrongly is said in one line, like everything else that goes wrong."""

from __future__ import annotations

import sys
from typing import Any, NoReturn, cast

import typer
from typer.core import TyperGroup

from rhapsode.cli.failures import MISUSED, Misuse

# Typer shows no other way to it, and the module it lies in depends on Typer's version.
UsageError = cast("type[typer.BadParameter]", typer.BadParameter.__mro__[1])


class OneLineGroup(TyperGroup):
    """Raises `Misuse` where Typer would print the usage of the command, which `--help` shows."""

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
