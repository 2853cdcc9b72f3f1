"""Rich's console with `visible` text, and progress as lines. It loads Rich."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from rhapsode.cli.visible import visible

LINE_EVERY_S = 5.0


class VisibleConsole(Console):
    """Rich's own control codes are separate segments, which stay as they are."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))


class TimedLines:
    """Progress for logs and pipes: a new line at most every five seconds."""

    def __init__(self, console: Console, began_s: float = -math.inf) -> None:
        """began_s: the first line comes five seconds later."""
        self._console = console
        self._printed_s = began_s
        self._printed = ""

    def show(self, line: str) -> None:
        now = time.monotonic()
        if line != self._printed and now - self._printed_s >= LINE_EVERY_S:
            self._printed, self._printed_s = line, now
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)
