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
        str | None, typer.Option(metavar="N,N...", help="Concurrent requests. Each number is one measurement.")
    ] = None
    minutes: Annotated[
        float | None, typer.Option(min=0.2, max=120, help="Time limit of the whole run. Default for an engine: 5.")
    ] = None
    price: Annotated[
        float | None,
        typer.Option(
            min=0, help="Price of the device for an hour. The report then shows the cost of an hour of audio."
        ),
    ] = None
    json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write all figures to this file as JSON.")
    ] = None


def read_streams(option: str, most: int) -> tuple[int, ...]:
    """In order, each once. Raises `Misuse`."""
    try:
        numbers = tuple(sorted({int(part) for part in option.split(",")}))
    except ValueError:
        raise Misuse(f"--streams: {option!r} is not a list of numbers such as 1,64,256") from None
    if numbers[0] < 1 or numbers[-1] > most:
        raise Misuse(f"--streams: from 1 to {most}")
    return numbers
