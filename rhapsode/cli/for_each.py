"""The same for each of several things: what fails for one is said, and the others are done all the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from rhapsode.cli.clients import connected
from rhapsode.cli.failures import FAILED

if TYPE_CHECKING:
    from pathlib import Path

    from rhapsode.client.resources import Job
    from rhapsode.client.sync.client import Rhapsode


@dataclass(frozen=True, slots=True)
class Handled:
    """What became of one of them: in a word behind its name, and as a JSON object."""

    word: str
    document: str


def became(job: Job) -> Handled:
    return Handled(str(job.state), job.model_dump_json())


def deleted(name: str) -> Handled:
    return Handled("deleted", json.dumps({"id": name, "deleted": True}))


def for_each(
    names: Iterable[str],
    do: Callable[[Rhapsode, str], Handled],
    server: str | None,
    data_dir: Path | None,
    *,
    as_json: bool,
) -> None:
    """A line for each: what `do` returns, or on standard error what is wrong with this one; then the status is 1.

    A server that cannot be reached, or that refuses the caller, ends it at once.
    """
    from rhapsode.errors import BuiltInVoice, Conflict, Gone, InvalidRequest, NotFound

    num_failed = 0
    with connected(server, data_dir) as client:
        for name in names:
            try:
                done = do(client, name)
            except (NotFound, Gone, Conflict, InvalidRequest, BuiltInVoice) as error:
                num_failed += 1
                typer.echo(f"rhapsode: {name}: {' '.join(str(error).split())}", err=True)
            else:
                typer.echo(done.document if as_json else f"{name} {done.word}")
    if num_failed:
        raise typer.Exit(FAILED)
