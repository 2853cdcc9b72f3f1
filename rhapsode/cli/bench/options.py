"""What `rhapsode bench` takes whatever it measures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from rhapsode.cli.failures import Misuse


@dataclass(frozen=True, slots=True)
class SharedOptions:
    """Options."""

    streams: Annotated[
        str | None, typer.Option(metavar="N,N...", help="Requests in flight; one measurement for each number.")
    ] = None
    minutes: Annotated[
        float | None,
        typer.Option(min=0.2, max=120, help="For all of it, else 5 for an engine; what does not fit is left out."),
    ] = None
    price: Annotated[
        float | None, typer.Option(min=0, help="Of an hour of the device: then the cost of an hour of audio is told.")
    ] = None
    json: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write every figure there as JSON.")] = (
        None
    )


def read_streams(option: str, most: int) -> tuple[int, ...]:
    """In order, each once. Raises `Misuse`."""
    try:
        numbers = tuple(sorted({int(part) for part in option.split(",")}))
    except ValueError:
        raise Misuse(f"--streams: {option!r} is no list of numbers such as 1,64,256") from None
    if numbers[0] < 1 or numbers[-1] > most:
        raise Misuse(f"--streams: from 1 to {most}")
    return numbers
