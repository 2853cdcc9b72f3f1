"""Waiting for a job's end, for `jobs watch` and for `--wait`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rhapsode.cli.failures import FAILED, INTERRUPTED
from rhapsode.cli.visible import echo

if TYPE_CHECKING:
    from rhapsode.client.resources import Job
    from rhapsode.client.sync.client import Rhapsode

WaitOption = Annotated[bool, typer.Option("--wait", help="Wait for the end. The exit status is 0 if the job succeeds.")]


def watched(client: Rhapsode, job: str) -> Job:
    """The ended job. Standard error shows its progress. Ctrl-C stops the wait, not the job."""
    from rhapsode.cli.consoles import VisibleConsole
    from rhapsode.cli.narrate.progress import follow

    console = VisibleConsole(stderr=True)
    try:
        return follow(client, client.job(job), console)
    except KeyboardInterrupt as interrupt:
        console.print(f"job {job} continues", highlight=False)
        raise typer.Exit(INTERRUPTED) from interrupt


def exit_unless_succeeded(job: Job) -> None:
    """Report a failed job on standard error, with the command that may help."""
    if job.state == "succeeded":
        return
    reason = f": {job.error.detail} ({job.error.code})" if job.error else ""
    line = f"rhapsode: job {job.id} {job.state}{reason}; the change is kept for: rhapsode jobs retry {job.id}"
    echo(" ".join(line.split()), err=True)
    raise typer.Exit(FAILED)
