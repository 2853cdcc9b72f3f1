"""The same action for each of several names. It reports a failure and continues with the next name."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import typer

from rhapsode.cli.clients import CommonOptions, connected
from rhapsode.cli.failures import FAILED
from rhapsode.cli.visible import echo

if TYPE_CHECKING:
    from rhapsode.client.resources import Job
    from rhapsode.client.sync.client import Rhapsode
    from rhapsode.contract.batches import Batch

Handled = tuple[str, str]
"""The result for one name: a word, and a JSON object."""


def became(changed: Job | Batch) -> Handled:
    return str(changed.state), changed.model_dump_json()


def delete_each(
    common: CommonOptions, names: Iterable[str], method: Callable[[Rhapsode], Callable[[str], object]]
) -> None:
    """Call the client's method with each name."""

    def delete(client: Rhapsode, name: str) -> Handled:
        method(client)(name)
        return "deleted", json.dumps({"id": name, "deleted": True})

    for_each(common, names, delete)


def for_each(common: CommonOptions, names: Iterable[str], do: Callable[[Rhapsode, str], Handled]) -> None:
    """Print a line for each result of `do`, and each failure on standard error. After a failure the status is 1.

    It stops at once if the server cannot be reached, or refuses the caller.
    """
    from rhapsode.errors import BuiltInVoice, Conflict, Gone, InvalidRequest, NotFound

    num_failed = 0
    with connected(common) as client:
        for name in names:
            try:
                word, document = do(client, name)
            except (NotFound, Gone, Conflict, InvalidRequest, BuiltInVoice) as error:
                num_failed += 1
                echo(f"rhapsode: {name}: {' '.join(str(error).split())}", err=True)
            else:
                echo(document if common.as_json else f"{name} {word}")
    if num_failed:
        raise typer.Exit(FAILED)
