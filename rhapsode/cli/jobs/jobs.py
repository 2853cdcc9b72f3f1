"""`rhapsode jobs`: the jobs of a server."""

from __future__ import annotations

from typing import Annotated

import typer

from rhapsode.cli.clients import CommonOptions, connected
from rhapsode.cli.failures import FAILED
from rhapsode.cli.for_each import became, delete_each, for_each
from rhapsode.cli.jobs import control as job_control
from rhapsode.cli.jobs import download as downloading
from rhapsode.cli.jobs import listen as listening
from rhapsode.cli.jobs import segments
from rhapsode.cli.jobs import submit as submitting
from rhapsode.cli.jobs.control import JobArgument, JobsArgument
from rhapsode.cli.jobs.facts import facts
from rhapsode.cli.jobs.listing import print_jobs, when
from rhapsode.cli.jobs.waiting import watched
from rhapsode.cli.operators.drained import has_drained_workers
from rhapsode.cli.options import LimitOption, check_choices
from rhapsode.cli.visible import echo

app = typer.Typer(
    help="Submit, list, watch, edit, retry, download and delete jobs.", no_args_is_help=True, rich_markup_mode=None
)

StateOption = Annotated[
    list[str] | None,
    typer.Option(
        "--state",
        metavar="pending|running|paused|cancelling|succeeded|failed|cancelled|expired",
        help="Only jobs in this state. Repeat it for more.",
    ),
]


@app.command("list")
def list_jobs(common: CommonOptions, state: StateOption = None, limit: LimitOption = 20) -> None:
    """List jobs, newest first.

    A pipe gets lines with tabs: id, state, segments, spoken, created, voice, title, first words. With --json: one
    JSON object per line.
    """
    from itertools import islice

    from rhapsode.client.calls import JobFilter
    from rhapsode.contract.jobs.states import JobState

    check_choices("--state", state or [], tuple(JobState))
    filters = JobFilter(states=frozenset(map(JobState, state or [])))
    with connected(common) as client:
        jobs = client.jobs(filters, page_size=min(limit + 1, 100))
        found = list(islice(jobs, limit))
        has_more = next(jobs, None) is not None
    if common.as_json or not found:
        common.echo_each(found, when, none="no jobs")
    else:
        print_jobs(found)
    if has_more:
        echo(f"there are more than these {limit}; --limit shows more", err=True)


@app.command()
def show(common: CommonOptions, job: JobArgument) -> None:
    """Show one job."""
    with connected(common) as client:
        found = client.job(job)
        has_none = found.queue is not None and not found.queue.has_worker
        is_drained = has_none and has_drained_workers(client, found.request.model)
    common.echo_facts(found, facts(found, is_drained=is_drained))


@app.command()
def watch(common: CommonOptions, job: JobArgument) -> None:
    """Follow a job until it ends.

    The exit status is 0 if the job succeeds. Ctrl-C stops watching; the job continues.
    """
    with connected(common) as client:
        ended = watched(client, job)
    reason = f": {ended.error.detail} ({ended.error.code})" if ended.error else ""
    common.echo(ended, f"{ended.id} {ended.state}{reason}")
    if ended.state != "succeeded":
        raise typer.Exit(FAILED)


@app.command()
def cancel(common: CommonOptions, jobs: JobsArgument) -> None:
    """Cancel jobs at once. What was spoken is kept for `retry`."""
    for_each(common, jobs, lambda client, job: became(client.cancel(job)))


@app.command()
def rm(common: CommonOptions, jobs: JobsArgument) -> None:
    """Delete ended jobs with all their files."""
    delete_each(common, jobs, lambda client: client.delete)


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
