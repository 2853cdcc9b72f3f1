"""`rhapsode bench`: how much speech a machine's engine makes, or a running server of any kind."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated

import typer

from rhapsode.cli.bench.engine import EngineOptions, bench_engine
from rhapsode.cli.bench.options import SharedOptions
from rhapsode.cli.bench.server import bench_server, show_comparison
from rhapsode.cli.bench.server_options import ServerOptions
from rhapsode.cli.failures import Misuse


def bench(
    shared: SharedOptions,
    engine: EngineOptions,
    server: ServerOptions,
    url: Annotated[
        str | None, typer.Option("--url", metavar="URL", help="Measure the speech server at this URL.")
    ] = None,
    compare: Annotated[
        tuple[Path, Path] | None,
        typer.Option("--compare", metavar="A.json B.json", help="Compare two reports of servers. It measures nothing."),
    ] = None,
) -> None:
    """Measure speed and memory of this machine or a server.

    A run takes five minutes on a GPU and needs no model weights. On a CPU it measures the small voice only. With
    --url it measures a running server from the client's side. The report lists failed and skipped stages. Ctrl-C
    prints the report so far.
    """
    if compare is not None:
        if (shared, engine, server, url) != (SharedOptions(), EngineOptions(), ServerOptions(), None):
            raise Misuse("--compare takes no other option: it reads two reports")
        show_comparison(*compare)
    elif url is None:
        _refuse_given(server, "needs")
        bench_engine(engine, shared)
    else:
        _refuse_given(engine, "does not go with")
        bench_server(url, server, shared)


def _refuse_given(options: EngineOptions | ServerOptions, how: str) -> None:
    """Those of the other kind of measurement."""
    for field in fields(options):
        if getattr(options, field.name) != field.default:
            raise Misuse(f"--{field.name.rstrip('_').replace('_', '-')} {how} --url")
