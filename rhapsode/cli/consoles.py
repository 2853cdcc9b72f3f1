"""Rich's console, on which a server's words are as harmless as `visible` makes them. Loads Rich."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from rhapsode.cli.visible import visible


class VisibleConsole(Console):
    """What Rich itself tells the terminal stands in segments of their own, which go through."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))
