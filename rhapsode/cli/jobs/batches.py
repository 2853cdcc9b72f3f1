"""`rhapsode batches`: many jobs in one file."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rhapsode.cli.clients import AddressOptions, CommonOptions, connected
from rhapsode.cli.failures import FAILED, INTERRUPTED, Misuse, interruptible
from rhapsode.cli.file_names import is_plain
from rhapsode.cli.for_each import became, delete_each, for_each
from rhapsode.cli.jobs.control import kept_s, read_pair
from rhapsode.cli.jobs.download import save_files
from rhapsode.cli.jobs.listing import when
from rhapsode.cli.narrate.sent_files import readable
from rhapsode.cli.options import IdempotencyOption, KeepOption, LimitOption
from rhapsode.cli.tables import print_rows
from rhapsode.cli.visible import echo

if TYPE_CHECKING:
    from rhapsode.client.sync.client import Rhapsode
    from rhapsode.contract.batches import Batch, BatchResult

app = typer.Typer(
    help="Submit many jobs in one file; watch, read and cancel them.", no_args_is_help=True, rich_markup_mode=None
)

BatchArgument = Annotated[str, typer.Argument(metavar="BATCH", help="A batch's id, bat_...")]
BatchesArgument = Annotated[list[str], typer.Argument(metavar="BATCH...", help="Ids of batches, bat_...")]


@app.command()
def submit(
    common: CommonOptions,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSON lines: one job request with a custom_id in each.")],
    keep_days: KeepOption = None,
    metadata: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Metadata of the batch. Repeat it for more.")
    ] = None,
    idempotency_key: IdempotencyOption = None,
) -> None:
    """Submit a file of jobs and print the batch's id. If one line is invalid, no job is submitted."""
    readable(file)
    pairs = dict(read_pair(each) for each in metadata or [])
    with connected(common) as client:
        try:
            batch = client.batches.submit(
                file, retention_s=kept_s(keep_days), metadata=pairs, idempotency_key=idempotency_key
            )
        except OSError as error:
            raise Misuse(f"{file} cannot be read: {error.strerror}") from error
    echo(batch.model_dump_json(indent=2) if common.as_json else batch.id)


@app.command("list")
def list_batches(
    common: CommonOptions,
    limit: LimitOption = 20,
) -> None:
    """List batches, newest first. With --json: one JSON object per line."""
    with connected(common) as client:
        found = list(islice(client.batches.list(page_size=min(limit, 100)), limit))
    if common.as_json:
        common.echo_each(found, _counts)
        return
    rows = [(batch.id, str(batch.state), _counts(batch), when(batch)) for batch in found]
    print_rows(("batch", "state", "jobs", "created"), rows)


@app.command()
def show(common: CommonOptions, batch: BatchArgument) -> None:
    """Show one batch."""
    with connected(common) as client:
        found = client.batches.get(batch)
    counts = found.counts.model_dump()
    facts = [("batch", found.id), ("state", str(found.state)), ("created", when(found))]
    facts += [("lines" if name == "total" else name, str(number)) for name, number in counts.items()]
    facts += [("metadata", f"{name}={value}") for name, value in sorted(found.metadata.items())]
    common.echo_facts(found, facts)


@app.command()
def watch(common: CommonOptions, batch: BatchArgument) -> None:
    """Follow a batch until all its jobs end.

    The exit status is 0 if every job succeeds. Ctrl-C stops watching; the jobs continue.
    """
    from rhapsode.cli.consoles import VisibleConsole
    from rhapsode.cli.jobs.progress_bars import follow_batch

    console = VisibleConsole(stderr=True)
    with connected(common) as client:
        try:
            ended = follow_batch(client, client.batches.get(batch), console)
        except KeyboardInterrupt as interrupt:
            console.print(f"batch {batch} continues", highlight=False)
            raise typer.Exit(INTERRUPTED) from interrupt
    common.echo(ended, f"{ended.id} {ended.state}: {_counts(ended)}")
    if ended.counts.succeeded != ended.counts.total:
        raise typer.Exit(FAILED)


@app.command()
def results(
    common: AddressOptions,
    batch: BatchArgument,
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="DIR", help="Download files instead, into one folder for each custom_id."),
    ] = None,
) -> None:
    """Print each line's result in the file's order, as JSON lines.

    With --to it downloads the files of all successful jobs. A repeat continues an interrupted download. The exit
    status is 1 if a line has no result.
    """
    if to is not None and not to.is_dir():
        raise Misuse(f"--to: {to} is not a folder")
    with connected(common) as client:
        if to is not None:
            _fetch_results(client, batch, to)
            return
        for result in client.batches.results(batch):
            echo(result.model_dump_json())


@app.command()
def cancel(common: CommonOptions, batches: BatchesArgument) -> None:
    """Cancel batches with their unfinished jobs."""
    for_each(common, batches, lambda client, batch: became(client.batches.cancel(batch)))


@app.command()
def rm(common: CommonOptions, batches: BatchesArgument) -> None:
    """Delete ended batches; their jobs stay."""
    delete_each(common, batches, lambda client: client.batches.delete)


def _fetch_results(client: Rhapsode, batch: str, to: Path) -> None:
    """The exit status is 1 if a line has no files."""
    lacking = 0
    with interruptible():
        for result in client.batches.results(batch):
            if reason := _unfetched(result):
                echo(f"line {result.line}: {reason}", err=True)
                lacking += 1
                continue
            folder = to / result.custom_id
            folder.mkdir(exist_ok=True)
            for saved in save_files(client, str(result.job_id), (), folder, is_forced=False):
                echo(saved.line())
    if lacking:
        raise typer.Exit(FAILED)


def _unfetched(result: BatchResult) -> str | None:
    """Why a line's files are not fetched; None if they can be."""
    if result.job_id is None:
        return f"{result.custom_id!r} was not submitted: it has no files"
    if result.state != "succeeded":
        return f"{result.custom_id!r} is {result.state}: it has no files"
    if not is_plain(result.custom_id):
        return f"{result.custom_id!r} cannot name a folder; its files: rhapsode jobs download {result.job_id}"
    return None


def _counts(batch: Batch) -> str:
    """How many jobs ended and how: 7/9 succeeded, 1 failed."""
    counts = batch.counts
    others = (("failed", counts.failed), ("cancelled", counts.cancelled), ("expired", counts.expired))
    bad = (f"{number} {name}" for name, number in others if number)
    return ", ".join((f"{counts.succeeded}/{counts.total} succeeded", *bad))
