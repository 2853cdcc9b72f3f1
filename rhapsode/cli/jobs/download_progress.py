"""Progress of downloads on the terminal: a bar where there is one, a line now and then where there is none."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from rhapsode.cli.narrate.progress import LINE_EVERY_S


@contextmanager
def download_display(console: Console, name: str, total: int) -> Generator[Callable[[int], None]]:
    """What a download tells of its bytes goes here; nothing stays of it."""
    if not console.is_terminal:
        yield _Lines(console, name, total).show
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(name, total=total)
        yield lambda num_bytes: progress.update(task, completed=num_bytes)


class _Lines:
    """At most one in five seconds, and none for what is quicker."""

    def __init__(self, console: Console, name: str, total: int) -> None:
        self._console = console
        self._name = name
        self._total = total
        self._said_s = time.monotonic()

    def show(self, num_bytes: int) -> None:
        now = time.monotonic()
        if now - self._said_s >= LINE_EVERY_S:
            self._said_s = now
            line = f"{self._name}: {num_bytes:,} of {self._total:,} bytes"
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)
