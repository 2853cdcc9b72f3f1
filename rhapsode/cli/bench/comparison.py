"""`rhapsode bench --compare A.json B.json`: what two measurements of servers say of each other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rhapsode.cli.failures import Misuse
from rhapsode.cli.visible import echo

if TYPE_CHECKING:
    from rhapsode.bench.server.report import ServerReport


def show_comparison(first: Path, second: Path) -> None:
    from rhapsode.bench.server.comparison import compare
    from rhapsode.bench.server.text_comparison import text_comparison

    echo(text_comparison(compare(read_report("--compare", first), read_report("--compare", second))), nl=False)


def read_report(option: str, path: Path) -> ServerReport:
    from pydantic import ValidationError

    from rhapsode.bench.server.report import SCHEMA, ServerReport

    try:
        return ServerReport.read(path)
    except (ValidationError, UnicodeDecodeError):
        raise Misuse(f"{option}: {path} is no report of a server ({SCHEMA})") from None
