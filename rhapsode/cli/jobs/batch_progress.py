"""Progress of a batch on the terminal: a bar where there is one, a line now and then where there is none."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

from rhapsode.cli.narrate.progress import LINE_EVERY_S
from rhapsode.client.sync.client import Rhapsode
from rhapsode.contract.batches import Batch

POLL_S = 1.0


def follow_batch(client: Rhapsode, batch: Batch, console: Console) -> Batch:
    """Show how many jobs have ended until all have; returns the batch as it ended."""
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
        yield _Lines(console).show
        return
    columns = (SpinnerColumn(), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[facts]}"))
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=None, facts="")
        yield lambda batch: progress.update(
            task, total=batch.counts.total, completed=batch.counts.ended, facts=_facts(batch)
        )


class _Lines:
    """A line when something changed, at most one in five seconds."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._said_s = -math.inf
        self._said = ""

    def show(self, batch: Batch) -> None:
        line = f"{batch.counts.ended}/{batch.counts.total} jobs ended: {_facts(batch)}"
        now = time.monotonic()
        if line != self._said and now - self._said_s >= LINE_EVERY_S:
            self._said, self._said_s = line, now
            self._console.print(line, markup=False, highlight=False)


def _facts(batch: Batch) -> str:
    counts = batch.counts
    bad = counts.ended - counts.succeeded
    return f"{counts.made} made" + (f", {bad} not succeeded" if bad else "")
