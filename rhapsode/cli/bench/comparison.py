"""`rhapsode bench --compare A.json B.json`: what two measurements of servers say of each other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from rhapsode.cli.failures import Misuse

if TYPE_CHECKING:
    from rhapsode.bench.server.report import ServerReport


def show_comparison(first: Path, second: Path) -> None:
    from rhapsode.bench.server.compare import compare, text_comparison

    typer.echo(text_comparison(compare(read_report("--compare", first), read_report("--compare", second))), nl=False)


def read_report(option: str, path: Path) -> ServerReport:
    from pydantic import ValidationError

    from rhapsode.bench.server.report import SCHEMA, ServerReport

    try:
        return ServerReport.read(path)
    except (ValidationError, UnicodeDecodeError):
        raise Misuse(f"{option}: {path} is no report of a server ({SCHEMA})") from None
