"""Progress of downloads: a bar on a terminal, otherwise a line every few seconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from rhapsode.cli.consoles import TimedLines


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
