"""The command line. Commands import what they need when they run, so that `rhapsode --help` is immediate.

What was typed wrongly is said in one line, like everything else that goes wrong.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated, Any, NoReturn, cast

import typer
from typer.core import TyperGroup

from rhapsode.cli.failures import MISUSED, Misuse, failures_in_one_line
from rhapsode.cli.grouped_options import with_headings
from rhapsode.cli.jobs import batches, jobs
from rhapsode.cli.live import say
from rhapsode.cli.local import calibrate, check, doctor, run, up
from rhapsode.cli.narrate import narrate, plan
from rhapsode.cli.operators import keys, operations, quotas, usage
from rhapsode.cli.voices import consents, dictionaries, voices
from rhapsode.cli.webhooks import webhooks

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


app = typer.Typer(
    name="rhapsode",
    cls=OneLineGroup,
    help="Turn texts into speech through a job queue.",
    epilog="Start with: rhapsode narrate FILE. If that fails: rhapsode doctor.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(value: bool) -> None:
    if value:
        typer.echo(f"rhapsode {version('rhapsode')}")
        raise typer.Exit


@app.callback()
def rhapsode(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Turn texts into speech through a job queue."""


app.command(name="narrate", cls=with_headings(narrate.narrate))(narrate.narrate)
app.command(name="say")(say.say)
app.command(name="up")(up.up)
app.command(name="run")(run.run)
app.command(name="plan")(plan.plan)
app.add_typer(jobs.app, name="jobs")
app.add_typer(batches.app, name="batches")
app.add_typer(voices.app, name="voices")
app.add_typer(consents.app, name="consents")
app.add_typer(dictionaries.app, name="dictionaries")
app.add_typer(webhooks.app, name="webhooks")
app.add_typer(keys.app, name="keys")
app.add_typer(quotas.app, name="quotas")
app.command(name="usage")(usage.usage)
app.command(name="check")(check.check)
app.command(name="calibrate")(calibrate.calibrate)
app.command(name="workers")(operations.workers)
app.command(name="queues")(operations.queues)
app.command(name="drain")(operations.drain)
app.command(name="audit")(operations.audit)
app.add_typer(operations.dlq, name="dlq")
app.command(name="reconcile")(operations.reconcile)
app.command(name="doctor")(doctor.doctor)


def main() -> None:
    with failures_in_one_line():
        app()
