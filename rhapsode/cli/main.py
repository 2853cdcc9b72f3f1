"""The command line. Commands import what they need when they run, so that `rhapsode --help` is immediate."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from rhapsode.cli.command_group import OneLineGroup
from rhapsode.cli.failures import failures_in_one_line
from rhapsode.cli.grouped_options import with_headings
from rhapsode.cli.jobs import batches, jobs
from rhapsode.cli.local import calibrate, doctor, run, up
from rhapsode.cli.narrate import narrate, plan
from rhapsode.cli.operators import keys, operations, quotas, usage
from rhapsode.cli.voices import consents, dictionaries, voices
from rhapsode.cli.webhooks import webhooks

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
