"""When a narration starts, and which webhook gets its end: options of `rhapsode narrate`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from rhapsode.cli import job_options
from rhapsode.cli.failures import Misuse
from rhapsode.cli.job_fields import JobField, told

if TYPE_CHECKING:
    from rhapsode.client.request_options import JobOptions, JobWebhookFields

ENDPOINT_PREFIX = "whe_"


@dataclass(frozen=True, slots=True)
class OrderOptions:
    """Schedule and webhook."""

    priority: job_options.Priority = None
    not_before: job_options.NotBefore = None
    deadline: job_options.Deadline = None
    webhook: Annotated[
        str | None,
        typer.Option(metavar="URL|ENDPOINT", help="Send a webhook at the end: a URL, or an endpoint's id, whe_..."),
        JobField("webhook", is_by_hand=True),
    ] = None

    def wishes(self) -> JobOptions:
        """Raises `Misuse` for what is no time, and for what is no address of a webhook."""
        return {**told(self), "webhook": None if self.webhook is None else _receiver(self.webhook)}


def _receiver(given: str) -> JobWebhookFields:
    if given.startswith(ENDPOINT_PREFIX):
        return {"endpoint_id": given}
    if given.startswith(("https://", "http://")):
        return {"url": given}
    raise Misuse(f"--webhook: {given!r} is neither an address, https://..., nor an endpoint, {ENDPOINT_PREFIX}...")
