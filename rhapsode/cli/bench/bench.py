"""`rhapsode bench`: how much speech a machine's engine makes, or a running server of any kind."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated

import typer

from rhapsode.cli.bench.engine import EngineOptions, bench_engine
from rhapsode.cli.bench.options import SharedOptions
from rhapsode.cli.bench.server import ServerOptions, bench_server, show_comparison
from rhapsode.cli.failures import Misuse
from rhapsode.cli.grouped_options import grouped


@grouped
def bench(
    shared: SharedOptions,
    engine: EngineOptions,
    server: ServerOptions,
    url: Annotated[
        str | None, typer.Option("--url", metavar="URL", help="Measure the speech server there, of whatever kind.")
    ] = None,
    compare: Annotated[
        tuple[Path, Path] | None,
        typer.Option("--compare", metavar="A.json B.json", help="Two reports of servers; nothing is measured."),
    ] = None,
) -> None:
    """Measure this machine: speech a second by streams, first audio, memory, cost. No weights are needed.

    Takes five minutes on a GPU. Without one it measures the small voice on the CPU, in short, which says nothing of a
    published model. With --url it measures a server that runs already, by what its clients see: first sound, pace,
    holes, speech a second, by streams and by rate. A stage that fails is a line of the report, and so is what there was
    no time for; Ctrl-C gives the report so far.
    """
    if compare is not None:
        _refuse_beside_compare(shared, engine, server, url)
        show_comparison(*compare)
        return
    _refuse_given(engine if url is not None else server, "does not go with" if url is not None else "needs")
    if url is None:
        bench_engine(engine, shared)
    else:
        bench_server(url, server, shared)


def _refuse_beside_compare(
    shared: SharedOptions, engine: EngineOptions, server: ServerOptions, url: str | None
) -> None:
    if (shared, engine, server, url) != (SharedOptions(), EngineOptions(), ServerOptions(), None):
        raise Misuse("--compare goes with no other option: it reads two reports")


def _refuse_given(options: EngineOptions | ServerOptions, how: str) -> None:
    """Those of the other kind of measurement."""
    for field in fields(options):
        if getattr(options, field.name) != field.default:
            raise Misuse(f"--{field.name.rstrip('_').replace('_', '-')} {how} --url")
