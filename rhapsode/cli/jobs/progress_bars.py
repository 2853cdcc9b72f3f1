"""Progress of batches and downloads: a bar on a terminal, otherwise a line every few seconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TransferSpeedColumn,
)

from rhapsode.cli.consoles import TimedLines
from rhapsode.client.sync.client import Rhapsode
from rhapsode.contract.batches import Batch

POLL_S = 1.0


def follow_batch(client: Rhapsode, batch: Batch, console: Console) -> Batch:
    """Show the number of ended jobs until all have ended. Returns the ended batch."""
    with _display(console) as show:
        show(batch)
        while not batch.state.is_terminal:
            time.sleep(POLL_S)
            batch = client.batches.get(batch)
            show(batch)
    return batch


@contextmanager
def _display(console: Console) -> Generator[Callable[[Batch], None]]:
    if not console.is_terminal:
        lines = TimedLines(console)
        yield lambda batch: lines.show(f"{batch.counts.ended}/{batch.counts.total} jobs ended: {_facts(batch)}")
        return
    columns = (SpinnerColumn(), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[facts]}"))
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=None, facts="")
        yield lambda batch: progress.update(
            task, total=batch.counts.total, completed=batch.counts.ended, facts=_facts(batch)
        )


def _facts(batch: Batch) -> str:
    counts = batch.counts
    bad = counts.ended - counts.succeeded
    return f"{counts.made} made" + (f", {bad} not succeeded" if bad else "")


@contextmanager
def download_display(console: Console, name: str, total: int) -> Generator[Callable[[int], None]]:
    """Yields the function that shows the number of bytes. The bar disappears at the end."""
    if not console.is_terminal:
        lines = TimedLines(console, time.monotonic())
        yield lambda num_bytes: lines.show(f"{name}: {num_bytes:,} of {total:,} bytes")
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(name, total=total)
        yield lambda num_bytes: progress.update(task, completed=num_bytes)
