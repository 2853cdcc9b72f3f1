"""`rhapsode usage`: what was made, by day and API key."""

from __future__ import annotations

import csv
import io
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rhapsode.cli.clients import CommonOptions, connected
from rhapsode.cli.visible import echo

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rhapsode.contract.operators.usage import UsageReport

DATE = ["%Y-%m-%d"]

AMOUNTS = ("segments", "characters", "audio_s", "cached_audio_s", "engine_s")
COLUMNS = ("day", "key_id", *AMOUNTS)


def usage(
    common: CommonOptions,
    first: Annotated[
        datetime | None, typer.Option("--from", formats=DATE, help="First day (UTC). Default: 30 days ago.")
    ] = None,
    last: Annotated[datetime | None, typer.Option("--to", formats=DATE, help="Last day (UTC). Default: today.")] = None,
    by: Annotated[
        Literal["day", "key"] | None, typer.Option(help="One row for each day or each key. Default: one row for all.")
    ] = None,
    tenant: Annotated[str | None, typer.Option(help="Only this tenant. It needs an operator's key.")] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
) -> None:
    """Show how much audio was made.

    The columns are segments, characters, and seconds of audio, of cached audio and of engine time.
    """
    from rhapsode.client.sync.client import GROUPINGS

    with connected(common) as client:
        report = client.usage(
            first.date() if first else None,
            last.date() if last else None,
            group_by=(by,) if by else GROUPINGS,
            tenant=tenant,
        )
    if common.as_json:
        echo(report.model_dump_json(indent=2, by_alias=True))
    elif as_csv:
        table = io.StringIO(newline="")
        csv.writer(table).writerows([COLUMNS, *_rows(report)])
        echo(table.getvalue(), nl=False)
    else:
        _show(report)


def _rows(report: UsageReport) -> Iterable[list[object]]:
    for row in report.data:
        yield ["" if value is None else value for value in (getattr(row, name) for name in COLUMNS)]


def _show(report: UsageReport) -> None:
    total = ["total", "", *(getattr(report.total, name) for name in AMOUNTS)]
    table = [[_cell(value) for value in line] for line in (COLUMNS, *_rows(report), total)]
    widths = [max(len(line[column]) for line in table) for column in range(len(COLUMNS))]
    for line in table:
        names = [cell.ljust(width) for cell, width in zip(line[:2], widths, strict=False)]
        numbers = [cell.rjust(width) for cell, width in zip(line[2:], widths[2:], strict=True)]
        echo("  ".join((*names, *numbers)))


def _cell(value: object) -> str:
    match value:
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.1f}"
        case _:
            return str(value)
