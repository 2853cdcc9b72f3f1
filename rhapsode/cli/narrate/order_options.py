"""When a narration is made, and who is told: options of `rhapsode narrate`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rhapsode.cli.failures import Misuse
from rhapsode.cli.options import read_time

if TYPE_CHECKING:
    from rhapsode.client.request_options import JobOptions, JobWebhook

ENDPOINT_PREFIX = "whe_"


@dataclass(frozen=True, slots=True)
class OrderOptions:
    """When it is made, and who is told."""

    priority: Annotated[Literal["high", "normal", "low"] | None, typer.Option(help="Who goes first; else normal.")] = (
        None
    )
    not_before: Annotated[
        str | None, typer.Option(metavar="TIME", help="Begin at 2026-12-01T08:00 local time, and wait here for it.")
    ] = None
    deadline: Annotated[
        str | None, typer.Option(metavar="TIME", help="Refuse or fail it if it is not done by then.")
    ] = None
    webhook: Annotated[
        str | None,
        typer.Option(metavar="URL|ENDPOINT", help="Who is told of its end: an address, or an endpoint, whe_..."),
    ] = None

    def wishes(self) -> JobOptions:
        """Raises `Misuse` for what is no time, and for what is no address of a webhook."""
        return {
            "priority": self.priority,
            "not_before": read_time("--not-before", self.not_before) if self.not_before else None,
            "deadline": read_time("--deadline", self.deadline) if self.deadline else None,
            "webhook": None if self.webhook is None else _receiver(self.webhook),
        }


def _receiver(given: str) -> JobWebhook:
    if given.startswith(ENDPOINT_PREFIX):
        return {"endpoint_id": given}
    if given.startswith(("https://", "http://")):
        return {"url": given}
    raise Misuse(f"--webhook: {given!r} is neither an address, https://..., nor an endpoint, {ENDPOINT_PREFIX}...")
