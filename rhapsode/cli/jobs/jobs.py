"""`rhapsode jobs`: what the server has been asked to do."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Annotated

import typer

from rhapsode.cli.clients import connected
from rhapsode.cli.failures import FAILED
from rhapsode.cli.for_each import Handled, became, deleted, for_each
from rhapsode.cli.jobs import control as job_control
from rhapsode.cli.jobs import download as downloading
from rhapsode.cli.jobs import listen as listening
from rhapsode.cli.jobs import segments
from rhapsode.cli.jobs import submit as submitting
from rhapsode.cli.jobs.facts import facts
from rhapsode.cli.jobs.listing import print_jobs
from rhapsode.cli.jobs.waiting import watched
from rhapsode.cli.options import DataDirOption, JsonOption, ServerOption
from rhapsode.cli.visible import echo

if TYPE_CHECKING:
    from rhapsode.client.sync.client import Rhapsode
    from rhapsode.contract.jobs.states import JobState

app = typer.Typer(
    help="Submit, list, watch, edit, retry, download and delete jobs.", no_args_is_help=True, rich_markup_mode=None
)

JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="A job's id, job_...")]
JobsArgument = Annotated[list[str], typer.Argument(metavar="JOB...", help="Ids of jobs, job_...")]
StateOption = Annotated[
    list[str] | None,
    typer.Option(
        "--state",
        metavar="pending|running|paused|cancelling|succeeded|failed|cancelled|expired",
        help="Only jobs in this state. Repeat it for more.",
    ),
]


@app.command("list")
def list_jobs(
    state: StateOption = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of rows, newest first.")] = 20,
    server: ServerOption = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """List jobs, newest first.

    A pipe gets lines with tabs: id, state, segments, spoken, created, voice, title, first words. With --json: one
    JSON object per line.
    """
    from itertools import islice

    from rhapsode.client.calls import JobFilter

    filters = JobFilter(states=frozenset(_states(state or [])))
    with connected(server, data_dir) as client:
        found = list(islice(client.jobs(filters, page_size=min(limit, 100)), limit))
    if as_json:
        for job in found:
            echo(job.model_dump_json())
    elif found:
        print_jobs(found)
    else:
        echo("no jobs")


@app.command()
def show(
    job: JobArgument, server: ServerOption = None, data_dir: DataDirOption = None, as_json: JsonOption = False
) -> None:
    """Show one job."""
    with connected(server, data_dir) as client:
        found = client.job(job)
    if as_json:
        echo(found.model_dump_json(indent=2))
        return
    for name, value in facts(found):
        echo(f"{name:<10} {value}")


@app.command()
def watch(
    job: JobArgument, server: ServerOption = None, data_dir: DataDirOption = None, as_json: JsonOption = False
) -> None:
    """Follow a job until it ends.

    The exit status is 0 if the job succeeds. Ctrl-C stops watching; the job continues.
    """
    with connected(server, data_dir) as client:
        ended = watched(client, job)
    reason = f": {ended.error.detail} ({ended.error.code})" if ended.error else ""
    echo(ended.model_dump_json() if as_json else f"{ended.id} {ended.state}{reason}")
    if ended.state != "succeeded":
        raise typer.Exit(FAILED)


@app.command()
def cancel(
    jobs: JobsArgument, server: ServerOption = None, data_dir: DataDirOption = None, as_json: JsonOption = False
) -> None:
    """Cancel jobs within one codec frame."""
    for_each(jobs, lambda client, job: became(client.cancel(job)), server, data_dir, as_json=as_json)


@app.command()
def rm(
    jobs: JobsArgument, server: ServerOption = None, data_dir: DataDirOption = None, as_json: JsonOption = False
) -> None:
    """Delete ended jobs with all their files."""

    def delete(client: Rhapsode, job: str) -> Handled:
        client.delete(job)
        return deleted(job)

    for_each(jobs, delete, server, data_dir, as_json=as_json)


app.command("segments")(segments.list_segments)
app.command("sentences")(segments.list_sentences)
app.command("edit")(segments.edit_segment)
app.command("takes")(segments.take_segment)
app.command()(listening.listen)
app.command()(submitting.submit)
app.command()(downloading.download)
app.command()(job_control.pause)
app.command()(job_control.resume)
app.command("set")(job_control.set_options)
app.command()(job_control.retry)
app.command()(job_control.assemble)


def _states(names: list[str]) -> Generator[JobState]:
    from rhapsode.cli.failures import Misuse
    from rhapsode.contract.jobs.states import JobState

    for name in names:
        try:
            yield JobState(name)
        except ValueError as error:
            raise Misuse(f"--state: {name!r} is not one of {', '.join(JobState)}") from error
